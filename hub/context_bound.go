package hub

import (
	"encoding/json"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// object is a context on its way:
//
//	{"trigger":{...}, "triggers":[...], "key":value, "key":[value, ...]}
//
// triggers is there only with several.
type object struct {
	bound    int // in bytes
	trigger  *parley.ContextTrigger
	triggers []json.RawMessage
	portions []*portion
}

func (o *object) encode() json.RawMessage {
	b := append([]byte(`{"trigger":`), o.encodedTrigger()...)
	if len(o.triggers) > 1 {
		b = appendList(append(b, `,"triggers":`...), o.triggers)
	}
	for _, p := range o.portions {
		b = p.append(b)
	}
	return append(b, '}')
}

func (o *object) encodedTrigger() json.RawMessage {
	if o.trigger == nil {
		return json.RawMessage("null")
	}
	return fold.Encode(o.trigger)
}

// shrink leaves things out until the context keeps to its bound, what is missed least first:
//
//  1. of the longest list, by its bytes, the oldest, or least similar, element; of lists that are as long, of the last
//  2. single values, from the last selector up: null stands in their place
//  3. of triggers, the first, until one is left, which is trigger
//  4. text and data of trigger, which says so, and then its tags
//  5. members, from the last selector up, and then the schema of trigger
func (o *object) shrink() {
	trigger := len(o.encodedTrigger())
	for o.bytes(trigger) > o.bound {
		switch {
		case o.dropOfList(), o.dropValue(), o.dropTrigger():
		case o.cutTrigger(), o.dropMember(), o.cutSchema():
			trigger = len(o.encodedTrigger())
		default:
			return
		}
	}
}

// bytes is how long encode would be, with so many bytes of trigger.
func (o *object) bytes(trigger int) int {
	n := len(`{"trigger":}`) + trigger
	if len(o.triggers) > 1 {
		n += len(`,"triggers":[]`) + len(o.triggers) - 1
		for _, t := range o.triggers {
			n += len(t)
		}
	}
	for _, p := range o.portions {
		n += p.bytes()
	}
	return n
}

func (o *object) dropOfList() bool {
	var longest *portion
	for _, p := range o.portions {
		if p.list && len(p.values) > 0 && (longest == nil || p.size >= longest.size) {
			longest = p
		}
	}
	if longest != nil {
		longest.drop()
	}
	return longest != nil
}

func (o *object) dropValue() bool {
	for i := len(o.portions) - 1; i >= 0; i-- {
		if p := o.portions[i]; !p.list && p.size > len("null") {
			p.drop()
			return true
		}
	}
	return false
}

func (o *object) dropTrigger() bool {
	if len(o.triggers) < 2 {
		return false
	}
	o.triggers = o.triggers[1:]
	return true
}

func (o *object) cutTrigger() bool {
	t := o.trigger
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

func (o *object) dropMember() bool {
	for i := len(o.portions) - 1; i >= 0; i-- {
		if p := o.portions[i]; !p.gone {
			p.gone = true
			return true
		}
	}
	return false
}

func (o *object) cutSchema() bool {
	if o.trigger == nil || o.trigger.SchemaName == "" {
		return false
	}
	o.trigger.SchemaName, o.trigger.Truncated = "", true
	return true
}
