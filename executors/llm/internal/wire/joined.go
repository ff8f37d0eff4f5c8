package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Joined is a JSON value that arrives in deltas. Strings are concatenated, objects are merged, and
// lists are merged by the member index of their items. Other values replace the earlier ones. Null
// changes nothing. The zero value is ready to use.
type Joined struct {
	text    *strings.Builder   // of a string
	members map[string]*Joined // of an object
	items   []*Joined          // of a list
	isList  bool
	value   json.RawMessage // of any other kind
}

// labels are members that identify an object. Vendors repeat them in each delta, so they are
// replaced, not concatenated.
var labels = []string{"type", "id", "index", "format", "role", "name", "object", "status", "model"}

// Add joins a delta to the value. It ignores a delta that is not JSON.
func (j *Joined) Add(delta json.RawMessage) {
	delta = bytes.TrimSpace(delta)
	if len(delta) == 0 || string(delta) == "null" {
		return
	}
	switch delta[0] {
	case '"':
		j.addText(delta)
	case '{':
		var members map[string]json.RawMessage
		if json.Unmarshal(delta, &members) == nil {
			j.addMembers(members)
		}
	case '[':
		var items []json.RawMessage
		if json.Unmarshal(delta, &items) == nil {
			j.addItems(items)
		}
	default:
		if json.Valid(delta) {
			*j = Joined{value: bytes.Clone(delta)}
		}
	}
}

func (j *Joined) addText(delta json.RawMessage) {
	var text string
	if json.Unmarshal(delta, &text) != nil {
		return
	}
	if j.text == nil {
		*j = Joined{text: &strings.Builder{}}
	}
	j.text.WriteString(text)
}

func (j *Joined) addMembers(members map[string]json.RawMessage) {
	if j.members == nil {
		*j = Joined{members: map[string]*Joined{}}
	}
	for name, value := range members {
		j.AddMember(name, value)
	}
}

// AddMember joins a delta to a member of an object.
func (j *Joined) AddMember(name string, delta json.RawMessage) {
	if j.members == nil {
		*j = Joined{members: map[string]*Joined{}}
	}
	member := j.members[name]
	isLabel := slices.Contains(labels, name) && string(delta) != "null" && string(delta) != `""`
	if member == nil || isLabel {
		if string(bytes.TrimSpace(delta)) == "null" {
			return
		}
		member = &Joined{}
		j.members[name] = member
	}
	member.Add(delta)
}

// SetMember replaces a member of an object, also by null.
func (j *Joined) SetMember(name string, value json.RawMessage) {
	if j.members == nil {
		*j = Joined{members: map[string]*Joined{}}
	}
	j.members[name] = &Joined{}
	j.members[name].Add(value)
}

// AppendItem appends an item to the list that is a member of an object.
func (j *Joined) AppendItem(name string, item json.RawMessage) {
	if j.members == nil {
		*j = Joined{members: map[string]*Joined{}}
	}
	list := j.members[name]
	if list == nil || !list.isList {
		list = &Joined{isList: true}
		j.members[name] = list
	}
	added := &Joined{}
	added.Add(item)
	list.items = append(list.items, added)
}

func (j *Joined) addItems(items []json.RawMessage) {
	if !j.isList {
		*j = Joined{isList: true}
	}
	before := len(j.items)
	for i, item := range items {
		place := j.placeOf(item, i, before, len(items))
		if place < 0 {
			place = len(j.items)
			j.items = append(j.items, &Joined{})
		}
		j.items[place].Add(item)
	}
}

// placeOf returns the place of the item that a delta continues, or -1 for a new item. Items with a
// member index continue the item with the same index. Items without one continue the item at their
// own place, or the last one if the delta has one item. An item never continues one of another type
// or id.
func (j *Joined) placeOf(delta json.RawMessage, i, before, count int) int {
	var members map[string]json.RawMessage
	if json.Unmarshal(delta, &members) != nil || members == nil {
		return -1
	}
	if index, ok := members["index"]; ok && string(index) != "null" {
		return slices.IndexFunc(j.items, func(item *Joined) bool { return item.member("index") == string(index) })
	}
	place := i
	if count == 1 {
		place = before - 1
	}
	if place < 0 || place >= before || j.items[place].members == nil {
		return -1
	}
	for _, name := range []string{"type", "id", "index"} {
		own, given := j.items[place].member(name), string(members[name])
		if own != "" && given != "" && given != "null" && own != given {
			return -1
		}
	}
	return place
}

// member returns the JSON of a member. It is empty if the member is missing.
func (j *Joined) member(name string) string {
	m := j.members[name]
	if m == nil {
		return ""
	}
	return string(m.JSON())
}

// JSON returns the value. It is nil if nothing was added.
func (j *Joined) JSON() json.RawMessage {
	switch {
	case j.text != nil:
		return encode(j.text.String())
	case j.members != nil:
		all := make(map[string]json.RawMessage, len(j.members))
		for name, member := range j.members {
			if raw := member.JSON(); raw != nil {
				all[name] = raw
			}
		}
		return encode(all)
	case j.isList:
		all := make([]json.RawMessage, 0, len(j.items))
		for _, item := range j.items {
			if raw := item.JSON(); raw != nil {
				all = append(all, raw)
			}
		}
		return encode(all)
	}
	return j.value
}

// encode returns JSON without escapes of <, > and &. The values of this package can be encoded.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// Members returns the members of an object, or nil for any other value.
func Members(raw json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	return members
}

// Text returns a JSON string. It returns "" for any other value.
func Text(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// Index returns a number, also one that is written as a string.
func Index(raw json.RawMessage) (index int, ok bool) {
	n, err := strconv.Atoi(strings.Trim(string(raw), `"`))
	return n, err == nil
}
