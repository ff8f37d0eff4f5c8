// Package selector is the one matcher of subscriptions: routing, fetching and dry-run ask it. Its
// paths are the one JSONPath engine of the module: the inputs of workflow steps are looked up with a
// Path. The library that reads paths evaluates them without a bound, rounds numbers and panics for
// some; so paths are evaluated here.
//
// All that is given of a selector has to hold, and what is of another type than what is asked for never does: nothing matches because it could not be understood. How long
// a selector looks at an event is bounded by MaxSteps, and where that is not enough it does not match. A Set may be asked from several goroutines at once, an Event not.
package selector

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// Event is what selectors look at. Its data is read once, when the first selector asks for it: so Data is not to be changed after that.
type Event struct {
	Type   parley.EventType // note or message; traces match nothing
	Schema string
	Tags   []string
	// Data is payload.data; empty where there is none.
	Data json.RawMessage

	decoded *Document
}

// root is the data, or nil where there is none.
func (e *Event) root() *value {
	if e.decoded == nil {
		e.decoded = ReadDocument(e.Data)
	}
	return e.decoded.root
}

// Set are compiled subscriptions.
type Set struct {
	Subscriptions *parley.Subscriptions

	conditions [][]condition // of each selector
	hints      []hints
}

// Compile parses subscriptions and their paths. There is a Set, or there are faults, each with its path: $.selectors[0].context_match[1].path.
func Compile(raw json.RawMessage) (*Set, []parley.ValidationError) {
	s, faults := parley.ParseSubscriptions(raw)
	if len(faults) > 0 {
		return nil, append(faults, pathFaults(raw, faults)...)
	}
	set := &Set{Subscriptions: s, conditions: make([][]condition, len(s.Selectors)), hints: make([]hints, len(s.Selectors))}
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

// matchPath is where the path of a condition stands.
func matchPath(raw json.RawMessage, i, j int) string {
	selectors := "$.selectors"
	if strings.HasPrefix(strings.TrimLeft(string(raw[:min(len(raw), 64)]), " \t\r\n"), "[") {
		selectors = "$"
	}
	return fmt.Sprintf("%s[%d].context_match[%d].path", selectors, i, j)
}

// pathFaults are those of paths in subscriptions that have other faults.
func pathFaults(raw json.RawMessage, known []parley.ValidationError) (faults []parley.ValidationError) {
	if len(raw) > limits.MaxSubscriptionBytes {
		return nil
	}
	p := &patterns{}
	for i, one := range elements(raw, "selectors") {
		for j, m := range elements(memberOf(one, "context_match"), "") {
			var path string
			at := matchPath(raw, i, j)
			if json.Unmarshal(memberOf(m, "path"), &path) != nil || !strings.HasPrefix(path, "$") || len(path) > limits.MaxMatchPathBytes || told(known, at) {
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

// elements gives those of a list, or of the list that an object has under a name; none of anything else.
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

// memberOf gives a member of an object; null where there is none.
func memberOf(raw json.RawMessage, name string) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) == nil && members[name] != nil {
		return members[name]
	}
	return json.RawMessage("null")
}

// Wakes gives the index of the first trigger that matches an event, of those of scope workspace or of the others; -1 where none does.
func (s *Set) Wakes(e *Event, workspace bool) int {
	i, _ := s.wakes(e, workspace)
	return i
}

// wakes says too how many steps it took.
func (s *Set) wakes(e *Event, workspace bool) (first, steps int) {
	for i := range s.Subscriptions.Selectors {
		sel := &s.Subscriptions.Selectors[i]
		if !sel.Trigger() || sel.Workspace() != workspace {
			continue
		}
		v := s.see(i, e)
		steps += 1 + v.steps
		if v.failed == failedNot {
			return i, steps
		}
	}
	return -1, steps
}

// Matches reports whether selector i matches an event. There is none below 0, and none after the last: such match nothing.
func (s *Set) Matches(i int, e *Event) bool { return s.see(i, e).failed == failedNot }

// Why says in one sentence, without a full stop, why selector i matches an event, or does not.
func (s *Set) Why(i int, e *Event) (matched bool, because string) {
	v := s.see(i, e)
	if v.failed == failedNot {
		return true, s.matched(i, e)
	}
	return false, s.because(i, e, v)
}

// failed is what of a selector an event does not do.
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

// verdict is how a selector saw an event: what failed first.
type verdict struct {
	failed  failed
	which   int // of the tags, or of the conditions
	outcome outcome
	steps   int
}

func (s *Set) see(i int, e *Event) verdict {
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
		if o := s.conditions[i][j].see(&w); !o.holds {
			return verdict{failed: failedMatch, which: j, outcome: o, steps: MaxSteps - w.left}
		}
	}
	return verdict{steps: MaxSteps - w.left}
}

func (e *Event) has(tag string) bool { return slices.Contains(e.Tags, tag) }
