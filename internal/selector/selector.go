// Package selector matches events against the triggers of agents. Routing, fetching and dry runs
// use the same matcher. It also has the only JSONPath engine of the module: inputs of workflow
// steps use a [Path]. The library that parses paths has no limits for their evaluation, rounds
// numbers and panics for some, so this package evaluates them.
//
// All conditions of a selector must hold. A value of another type than the condition never matches,
// so a misunderstanding never triggers work. MaxSteps limits the work of a selector on one event; a
// selector that exceeds it does not match. A Set is safe for concurrent use, an Event is not.
//
//	set, faults := selector.Compile(raw)
//	first := set.Wakes(&selector.Event{Type: parley.TypeMessage, Data: data}, true)
package selector

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// Event is an event for selectors. Data is parsed once, when the first selector needs it, so it
// must not change after that.
type Event struct {
	Type   parley.EventType // note or message; traces match nothing
	Schema string
	Tags   []string
	// Data is payload.data, or empty.
	Data json.RawMessage

	decoded *Document
}

// root returns the data, or nil.
func (e *Event) root() *value {
	if e.decoded == nil {
		e.decoded = ReadDocument(e.Data)
	}
	return e.decoded.root
}

// Set is a set of compiled triggers.
type Set struct {
	Subscriptions *parley.Subscriptions

	conditions [][]condition // of each selector
	hints      []hints
}

// Compile compiles triggers and their paths. It returns a Set, or faults with their places, such as
// $.selectors[0].context_match[1].path.
func Compile(raw json.RawMessage) (*Set, []parley.ValidationError) {
	s, faults := parley.ParseSubscriptions(raw)
	if len(faults) > 0 {
		return nil, append(faults, pathFaults(raw, faults)...)
	}
	set := &Set{Subscriptions: s, conditions: make([][]condition, len(s.Selectors)),
		hints: make([]hints, len(s.Selectors))}
	p := &patterns{}
	for i := range s.Selectors {
		for j, m := range s.Selectors[i].ContextMatch {
			c, err := compileCondition(m, p)
			if err != nil {
				faults = append(faults, pathFault(matchPath(raw, i, j), err))
				continue
			}
			set.conditions[i] = append(set.conditions[i], c)
		}
		set.hints[i] = compileHints(s.Selectors[i].LLMHints)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return set, nil
}

func pathFault(at string, err error) parley.ValidationError {
	return parley.ValidationError{Path: at, Message: "expected a JSONPath of RFC 9535: " + err.Error()}
}

// matchPath returns the place of the path of a condition.
func matchPath(raw json.RawMessage, i, j int) string {
	selectors := "$.selectors"
	if strings.HasPrefix(strings.TrimLeft(string(raw[:min(len(raw), 64)]), " \t\r\n"), "[") {
		selectors = "$"
	}
	return fmt.Sprintf("%s[%d].context_match[%d].path", selectors, i, j)
}

// pathFaults returns the faults of paths in triggers that have other faults, too.
func pathFaults(raw json.RawMessage, known []parley.ValidationError) (faults []parley.ValidationError) {
	if len(raw) > limits.MaxSubscriptionBytes {
		return nil
	}
	p := &patterns{}
	for i, one := range elements(raw, "selectors") {
		for j, m := range elements(memberOf(one, "context_match"), "") {
			var path string
			at := matchPath(raw, i, j)
			if json.Unmarshal(memberOf(m, "path"), &path) != nil || !strings.HasPrefix(path, "$") ||
				len(path) > limits.MaxMatchPathBytes || told(known, at) {
				continue
			}
			if _, err := compilePath(path, p); err != nil {
				faults = append(faults, pathFault(at, err))
			}
		}
	}
	return faults
}

func told(known []parley.ValidationError, path string) bool {
	return slices.ContainsFunc(known, func(e parley.ValidationError) bool { return e.Path == path })
}

// elements returns the elements of a list, or of the list under a name of an object. It returns
// none for other values.
func elements(raw json.RawMessage, name string) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	if json.Unmarshal(memberOf(raw, name), &list) == nil {
		return list
	}
	return nil
}

// memberOf returns a member of an object, or null.
func memberOf(raw json.RawMessage, name string) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) == nil && members[name] != nil {
		return members[name]
	}
	return json.RawMessage("null")
}

// Wakes returns the index of the first trigger that matches an event, among those of scope
// workspace or the others. It returns -1 if none matches.
func (s *Set) Wakes(e *Event, workspace bool) int {
	i, _ := s.wakes(e, workspace)
	return i
}

// wakes also returns the number of steps.
func (s *Set) wakes(e *Event, workspace bool) (first, steps int) {
	for i := range s.Subscriptions.Selectors {
		sel := &s.Subscriptions.Selectors[i]
		if !sel.Trigger() || sel.Workspace() != workspace {
			continue
		}
		v := s.evaluate(i, e)
		steps += 1 + v.steps
		if v.failed == failedNot {
			return i, steps
		}
	}
	return -1, steps
}

// Matches reports whether selector i matches an event. An index out of range matches nothing.
func (s *Set) Matches(i int, e *Event) bool { return s.evaluate(i, e).failed == failedNot }

// Why returns whether selector i matches an event, and the reason in one sentence without a full
// stop.
func (s *Set) Why(i int, e *Event) (matched bool, because string) {
	v := s.evaluate(i, e)
	if v.failed == failedNot {
		return true, s.whyMatched(i, e)
	}
	return false, s.because(i, e, v)
}

// failed is the part of a selector that an event does not meet.
type failed byte

const (
	failedNot failed = iota
	failedSelector
	failedType
	failedSchema
	failedAnyTags
	failedAllTags
	failedMatch
)

// verdict is the result of a selector on an event: the first part that failed.
type verdict struct {
	failed  failed
	which   int // index of the tag or condition
	outcome outcome
	steps   int
}

func (s *Set) evaluate(i int, e *Event) verdict {
	if i < 0 || i >= len(s.Subscriptions.Selectors) {
		return verdict{failed: failedSelector}
	}
	sel := &s.Subscriptions.Selectors[i]
	switch {
	case e.Type == parley.TypeTrace:
		return verdict{failed: failedType}
	case sel.SchemaName != "" && sel.SchemaName != e.Schema:
		return verdict{failed: failedSchema}
	case sel.AnyTags != nil && !slices.ContainsFunc(sel.AnyTags, e.has):
		return verdict{failed: failedAnyTags}
	}
	if lacks := slices.IndexFunc(sel.AllTags, func(tag string) bool { return !e.has(tag) }); lacks >= 0 {
		return verdict{failed: failedAllTags, which: lacks}
	}
	if len(s.conditions[i]) == 0 {
		return verdict{}
	}
	w := walk{root: e.root(), left: MaxSteps}
	for j := range s.conditions[i] {
		if o := s.conditions[i][j].evaluate(&w); !o.holds {
			return verdict{failed: failedMatch, which: j, outcome: o, steps: MaxSteps - w.left}
		}
	}
	return verdict{steps: MaxSteps - w.left}
}

func (e *Event) has(tag string) bool { return slices.Contains(e.Tags, tag) }
