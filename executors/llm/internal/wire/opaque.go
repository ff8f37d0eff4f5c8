package wire

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/parleyhub/parley/executors/llm"
)

// HasOther reports whether an object has members except the given ones. Members that are null or
// empty do not count.
func HasOther(raw json.RawMessage, known []string) bool {
	for name, value := range Members(raw) {
		if !slices.Contains(known, name) && !slices.Contains([]string{"null", `""`, "[]", "{}"}, string(value)) {
			return true
		}
	}
	return false
}

// CallMatcher finds the call of a message for each original call of the vendor, in order. Calls that
// were removed from the message have no match. A call whose id was missing or taken has another id
// in the message, so it matches by its position and name.
type CallMatcher struct {
	calls []llm.ToolCall
	idKey string
	ids   map[string]bool // of the original calls
	next  int
}

// NewCallMatcher returns a CallMatcher for the items of the given type, whose ids are in the member
// idKey.
func NewCallMatcher(calls []llm.ToolCall, items []json.RawMessage, kind, idKey string) *CallMatcher {
	m := &CallMatcher{calls: calls, idKey: idKey, ids: map[string]bool{}}
	for _, raw := range items {
		if item := Members(raw); Text(item["type"]) == kind {
			m.ids[Text(item[idKey])] = true
		}
	}
	return m
}

// Next returns the call for the next original call, or nil if it was removed.
func (m *CallMatcher) Next(item map[string]json.RawMessage) *llm.ToolCall {
	if m.Done() {
		return nil
	}
	c := &m.calls[m.next]
	if c.ID != Text(item[m.idKey]) && (m.ids[c.ID] || c.Name != Text(item["name"])) {
		return nil
	}
	m.next++
	return c
}

// Done reports whether all calls of the message have a match.
func (m *CallMatcher) Done() bool { return m.next == len(m.calls) }

// WithMembers returns an object with other values of some members. It returns raw if nothing
// changes, because a vendor may compare it.
func WithMembers(raw json.RawMessage, members map[string]json.RawMessage, values map[string]any) json.RawMessage {
	changed := false
	for name, value := range values {
		if v := encode(value); !bytes.Equal(compact(v), compact(members[name])) {
			members[name], changed = v, true
		}
	}
	if !changed {
		return raw
	}
	return encode(members)
}

func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return nil
	}
	return b.Bytes()
}
