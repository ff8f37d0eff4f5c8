package agentcontext

import (
	"encoding/json"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// document is a context before it is encoded:
//
//	{"trigger":{...}, "triggers":[...], "key":value, "key":[value, ...]}
//
// With one trigger there is no member triggers.
type document struct {
	bound    int // in bytes
	trigger  *parley.ContextTrigger
	triggers []json.RawMessage
	members  []*member
}

func (d *document) encode() json.RawMessage {
	b := append([]byte(`{"trigger":`), d.encodeTrigger()...)
	if len(d.triggers) > 1 {
		b = appendList(append(b, `,"triggers":`...), d.triggers)
	}
	for _, m := range d.members {
		b = m.appendTo(b)
	}
	return append(b, '}')
}

func (d *document) encodeTrigger() json.RawMessage {
	if d.trigger == nil {
		return json.RawMessage("null")
	}
	return eventdata.Encode(d.trigger)
}

// shrink removes parts, the least important first, until the context is within its bound:
//
//  1. the oldest or least similar element of the longest list, by its bytes, or the last such list
//  2. single values, which become null, from the last selector to the first
//  3. triggers, from the first, until only trigger is left
//  4. text and data of trigger, which is then marked as truncated, and after these its tags
//  5. members, from the last selector to the first, and after these the schema of trigger
func (d *document) shrink() {
	trigger := len(d.encodeTrigger())
	for d.encodedLen(trigger) > d.bound {
		switch {
		case d.dropElement(), d.dropValue(), d.dropTrigger():
		case d.truncateTrigger(), d.dropMember(), d.dropSchema():
			trigger = len(d.encodeTrigger())
		default:
			return
		}
	}
}

// encodedLen returns the length of encode, if trigger has the given length.
func (d *document) encodedLen(trigger int) int {
	n := len(`{"trigger":}`) + trigger
	if len(d.triggers) > 1 {
		n += len(`,"triggers":[]`) + len(d.triggers) - 1
		for _, t := range d.triggers {
			n += len(t)
		}
	}
	for _, m := range d.members {
		n += m.encodedLen()
	}
	return n
}

func (d *document) dropElement() bool {
	var longest *member
	for _, m := range d.members {
		if m.isList && len(m.values) > 0 && (longest == nil || m.size >= longest.size) {
			longest = m
		}
	}
	if longest != nil {
		longest.dropValue()
	}
	return longest != nil
}

func (d *document) dropValue() bool {
	for _, m := range slices.Backward(d.members) {
		if !m.isList && m.size > len("null") {
			m.dropValue()
			return true
		}
	}
	return false
}

func (d *document) dropTrigger() bool {
	if len(d.triggers) < 2 {
		return false
	}
	d.triggers = d.triggers[1:]
	return true
}

func (d *document) truncateTrigger() bool {
	t := d.trigger
	switch {
	case t == nil:
		return false
	case t.Text != "" || len(t.Data) > 0:
		t.Text, t.Data, t.Truncated = "", nil, true
	case len(t.Tags) > 0:
		t.Tags, t.Truncated = nil, true
	default:
		return false
	}
	return true
}

func (d *document) dropMember() bool {
	for _, m := range slices.Backward(d.members) {
		if !m.isDropped {
			m.isDropped = true
			return true
		}
	}
	return false
}

func (d *document) dropSchema() bool {
	if d.trigger == nil || d.trigger.SchemaName == "" {
		return false
	}
	d.trigger.SchemaName, d.trigger.Truncated = "", true
	return true
}

// member is the member of a document that one context selector fills.
type member struct {
	source    parley.ContextSource
	key       json.RawMessage
	isList    bool
	isDropped bool // not even the key is encoded
	values    []json.RawMessage
	size      int // of the values
}

func (m *member) addValue(v json.RawMessage, c parley.Cause) {
	m.values = append(m.values, v)
	m.source.Events = append(m.source.Events, c)
	m.size += len(v)
}

// dropValue removes the least important value: the oldest recent one, or the least similar one.
func (m *member) dropValue() {
	i := len(m.values) - 1
	if m.source.Fetch == parley.FetchRecent {
		i = 0
	}
	m.size -= len(m.values[i])
	m.values = slices.Delete(m.values, i, i+1)
	m.source.Events = slices.Delete(m.source.Events, i, i+1)
	m.source.Dropped++
}

// encodedLen returns the length of `,"key":value`.
func (m *member) encodedLen() int {
	n := 2 + len(m.key)
	switch {
	case m.isDropped:
		return 0
	case m.isList:
		return n + 2 + m.size + max(len(m.values)-1, 0)
	case len(m.values) == 0:
		return n + len("null")
	}
	return n + m.size
}

func (m *member) appendTo(b []byte) []byte {
	if m.isDropped {
		return b
	}
	b = append(append(append(b, ','), m.key...), ':')
	switch {
	case m.isList:
		return appendList(b, m.values)
	case len(m.values) == 0:
		return append(b, "null"...)
	}
	return append(b, m.values[0]...)
}

func appendList(b []byte, values []json.RawMessage) []byte {
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}
