package paramschema

import (
	"encoding/json"
	"strings"
)

// kind is a type of JSON.
type kind byte

const (
	null kind = iota
	boolean
	number
	text
	array
	object
)

// value is a JSON value that keeps the order of its members and the text of its numbers.
type value struct {
	kind    kind
	raw     string   // the text of a value other than an array or object
	items   []*value // of an array
	members []member // of an object
	byName  map[string]int
	at      int  // offset in the text, in bytes
	size    int  // length of its text, in bytes
	nodes   int  // number of values in it, including itself
	large   bool // a number with many digits when it is written out
}

// member is a member of an object. raw is the text of its name.
type member struct {
	name  string
	raw   string
	value *value
}

// manyMembers is the number of members from which a map is used to find them.
const manyMembers = 8

// get returns the value of a member, or nil. A value other than an object has no members.
func (v *value) get(name string) *value {
	if i := v.find(name); i >= 0 {
		return v.members[i].value
	}
	return nil
}

// find returns the index of a member, or -1.
func (v *value) find(name string) int {
	if v.byName != nil {
		if i, ok := v.byName[name]; ok {
			return i
		}
		return -1
	}
	for i := range v.members {
		if v.members[i].name == name {
			return i
		}
	}
	return -1
}

// setMembers replaces the members of an object.
func (v *value) setMembers(members []member) {
	v.members, v.byName = members, nil
	if len(members) <= manyMembers {
		return
	}
	v.byName = make(map[string]int, len(members))
	for i := range members {
		v.byName[members[i].name] = i
	}
}

// width returns the number of its direct children.
func (v *value) width() int { return len(v.items) + len(v.members) }

// string returns the content of a string, or "" for other values.
func (v *value) string() string {
	if v.kind != text {
		return ""
	}
	return unquote(v.raw)
}

// plain returns the value in the form of the library. Numbers are json.Number.
func (v *value) plain() any {
	switch v.kind {
	case boolean:
		return v.raw == "true"
	case number:
		return json.Number(v.raw)
	case text:
		return v.string()
	case array:
		all := make([]any, len(v.items))
		for i, item := range v.items {
			all[i] = item.plain()
		}
		return all
	case object:
		all := make(map[string]any, len(v.members))
		for _, m := range v.members {
			all[m.name] = m.value.plain()
		}
		return all
	}
	return nil
}

// appendTo appends the compact text of the value to b.
func (v *value) appendTo(b []byte) []byte {
	switch v.kind {
	case array:
		b = append(b, '[')
		for i, item := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendTo(b)
		}
		return append(b, ']')
	case object:
		b = append(b, '{')
		for i, m := range v.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, m.raw...), ':')
			b = m.value.appendTo(b)
		}
		return append(b, '}')
	}
	return append(b, v.raw...)
}

// clone returns a deep copy.
func (v *value) clone() *value {
	c := *v
	if v.kind == array {
		c.items = make([]*value, len(v.items))
		for i, item := range v.items {
			c.items[i] = item.clone()
		}
	}
	if v.kind == object {
		members := make([]member, len(v.members))
		for i, m := range v.members {
			members[i] = member{m.name, m.raw, m.value.clone()}
		}
		c.setMembers(members)
	}
	return &c
}

// unquote returns the content of a valid JSON string.
func unquote(raw string) string {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var s string
	_ = json.Unmarshal([]byte(raw), &s) // raw is valid
	return s
}

// quoted returns s as a JSON string.
func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}
