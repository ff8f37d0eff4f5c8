package parley

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/parleyhub/parley/internal/limits"
)

// ParseSubscriptions reads subscriptions: an object with selectors, or a list of selectors. It
// returns either the subscriptions or all errors, each with its path in raw. Names of members are
// exact. null is not a replacement for an absent member. A member that the selector cannot use is
// an error. The paths of context_match are checked only when they are compiled.
func ParseSubscriptions(raw json.RawMessage) (*Subscriptions, []ValidationError) {
	f := &subscriptionFaults{}
	if len(raw) > limits.MaxSubscriptionBytes {
		f.add("$", "expected at most %d bytes", limits.MaxSubscriptionBytes)
		return nil, f.all
	}
	s := &Subscriptions{}
	var read []selectorRead
	switch kindOfJSON(raw) {
	case "list":
		read = s.readSelectors(f, "$", raw)
	case "object":
		there := f.members("$", raw, map[string]any{
			"selectors":         func(path string, raw json.RawMessage) { read = s.readSelectors(f, path, raw) },
			"answer_schema":     &s.AnswerSchema,
			"include_self":      &s.IncludeSelf,
			"max_context_bytes": &s.MaxContextBytes,
		})
		if there != nil && !there["selectors"] {
			f.add("$.selectors", "expected 1 to %d selectors", limits.MaxSelectors)
		}
	default:
		f.add("$", "expected an object with selectors, or a list of them")
	}
	f.read = len(f.all)
	s.check(f, read)
	if len(f.all) > 0 {
		return nil, f.all
	}
	return s, nil
}

// subscriptionFaults are errors of subscriptions, in which null is an error.
type subscriptionFaults struct{ configFaults }

// members decodes the members of an object that are in into, and reports others. It returns the
// names that the object has.
func (f *subscriptionFaults) members(path string, raw json.RawMessage, into map[string]any) map[string]bool {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		f.add(path, "expected an object")
		return nil
	}
	there := make(map[string]bool, len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		there[name] = true
		at := path + "." + name
		to, known := into[name]
		_, any := to.(*json.RawMessage)
		_, nested := to.(func(string, json.RawMessage))
		switch value := members[name]; {
		case !known:
			f.add(at, "there is no such field: expected one of %s", strings.Join(slices.Sorted(maps.Keys(into)), ", "))
		case any:
			*to.(*json.RawMessage) = value
		case kindOfJSON(value) == "null" && nested:
			f.add(at, "expected it to be left out, not null")
		case kindOfJSON(value) == "null":
			f.add(at, "expected %s, not null", kindOf(to))
		default:
			f.member(at, value, to)
		}
	}
	return there
}

// list returns the elements of a list of at most most elements.
func (f *subscriptionFaults) list(path string, raw json.RawMessage, of string, most int) []json.RawMessage {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		f.add(path, "expected a list of %s", of)
		return nil
	}
	if len(list) > most {
		f.add(path, "expected at most %d %s", most, of)
		return nil
	}
	return list
}

// selectorRead has the path of a selector, and the names of the members that it has.
type selectorRead struct {
	path    string
	there   map[string]bool
	hints   map[string]bool
	matches []map[string]bool
}

func (s *Subscriptions) readSelectors(f *subscriptionFaults, path string, raw json.RawMessage) []selectorRead {
	s.Selectors = []Selector{}
	list := f.list(path, raw, "selectors", limits.MaxSelectors)
	read := make([]selectorRead, len(list))
	s.Selectors = make([]Selector, len(list))
	for i, one := range list {
		read[i] = s.Selectors[i].read(f, fmt.Sprintf("%s[%d]", path, i), one)
	}
	if list != nil && len(list) == 0 {
		f.add(path, "expected 1 to %d selectors", limits.MaxSelectors)
	}
	return read
}

func (s *Selector) read(f *subscriptionFaults, path string, raw json.RawMessage) selectorRead {
	r := selectorRead{path: path}
	var fetch, beside Fetch
	var within map[string]bool
	r.there = f.members(path, raw, map[string]any{
		"schema_name": &s.SchemaName, "any_tags": &s.AnyTags, "all_tags": &s.AllTags, "role": (*string)(&s.Role),
		"key": &s.Key, "scope": (*string)(&s.Scope),
		"limit": &beside.Limit, "nn": &beside.NN,
		"context_match": func(path string, raw json.RawMessage) { r.matches = s.readMatches(f, path, raw) },
		"fetch":         func(path string, raw json.RawMessage) { within = fetch.read(f, path, raw) },
		"llm_hints": func(path string, raw json.RawMessage) {
			s.LLMHints = &Hints{}
			r.hints = s.LLMHints.read(f, path, raw)
		},
	})
	for _, n := range []struct {
		name       string
		here, near *int
	}{{"limit", &fetch.Limit, &beside.Limit}, {"nn", &fetch.NN, &beside.NN}} {
		switch {
		case !r.there[n.name]:
		case within[n.name] && *n.here != *n.near:
			f.add(path+"."+n.name, "expected what fetch says, or only one of the two")
		default:
			*n.here = *n.near
		}
	}
	if r.there["fetch"] || r.there["limit"] || r.there["nn"] {
		s.Fetch = &fetch
		fetch.Method = s.FetchOf().Method
	}
	return r
}

// read decodes a method, or an object with an optional method. It returns the names of the members
// of the object.
func (t *Fetch) read(f *subscriptionFaults, path string, raw json.RawMessage) map[string]bool {
	switch kindOfJSON(raw) {
	case "text":
		t.Method.read(f, path, raw)
		return nil
	case "object":
		return f.members(path, raw, map[string]any{
			"method": func(path string, raw json.RawMessage) { t.Method.read(f, path, raw) }, "limit": &t.Limit, "nn": &t.NN,
		})
	}
	f.add(path, "expected a text or an object")
	return nil
}

func (m *FetchMethod) read(f *subscriptionFaults, path string, raw json.RawMessage) {
	f.member(path, raw, (*string)(m))
	if kindOfJSON(raw) == "text" && (*m == "" || !m.Valid()) {
		f.add(path, "expected event_data, latest, recent or vector")
		*m = ""
	}
}

func (s *Selector) readMatches(f *subscriptionFaults, path string, raw json.RawMessage) []map[string]bool {
	list := f.list(path, raw, "conditions", limits.MaxContextMatches)
	if len(list) == 0 {
		return nil
	}
	read := make([]map[string]bool, len(list))
	s.ContextMatch = make([]ContextMatch, len(list))
	for i, one := range list {
		m := &s.ContextMatch[i]
		read[i] = f.members(
			fmt.Sprintf("%s[%d]", path, i),
			one,
			map[string]any{"path": &m.Path, "op": (*string)(&m.Op), "value": &m.Value},
		)
		m.Value = written(m.Value)
	}
	return read
}

func (h *Hints) read(f *subscriptionFaults, path string, raw json.RawMessage) map[string]bool {
	there := f.members(path, raw, map[string]any{"include": &h.Include, "exclude": &h.Exclude, "template": &h.Template})
	if len(h.Exclude) == 0 { // an empty list is as good as none, which it is not for include
		h.Exclude = nil
	}
	return there
}

// written returns a value in the form that encoding/json writes, so that writing and reading it
// again does not change it.
func written(value json.RawMessage) json.RawMessage {
	if value == nil {
		return nil
	}
	b, err := json.Marshal(value)
	if err != nil { // it was read as JSON
		return value
	}
	return b
}

// kindOfJSON returns the type of a value by its first byte.
func kindOfJSON(raw json.RawMessage) string {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '"':
		return "text"
	case '{':
		return "object"
	case '[':
		return "list"
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	}
	return "number"
}
