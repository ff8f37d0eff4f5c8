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

// value is a JSON value as it was written: with the order of its members and the text of its numbers.
type value struct {
	kind    kind
	raw     string   // the text of a value that is no array and no object
	items   []*value // of an array
	members []member // of an object
	byName  map[string]int
	at      int  // where it begins in the text, in bytes
	size    int  // of its text, in bytes
	nodes   int  // the values that it is made of, itself included
	large   bool // a number that has many digits when it is written out
}

// member is a member of an object. raw is its name as it was written.
type member struct {
	name  string
	raw   string
	value *value
}

// manyMembers is from when on members are looked up in a map.
const manyMembers = 8

// get gives the value of a member, or nil. It is right for any value: none but an object has members.
func (v *value) get(name string) *value {
	if i := v.find(name); i >= 0 {
		return v.members[i].value
	}
	return nil
}

// find gives the index of a member, or -1.
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

// setMembers changes the members of an object.
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

// width is how many values it directly holds.
func (v *value) width() int { return len(v.items) + len(v.members) }

// string gives the content of a text, and nothing of what is none.
func (v *value) string() string {
	if v.kind != text {
		return ""
	}
	return unquote(v.raw)
}

// plain gives the value as the library takes it. Numbers are json.Number.
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

// appendTo adds the compact text of the value to b.
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

// clone copies a value, so that the copy can be changed.
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

// unquote gives the content of valid JSON text.
func unquote(raw string) string {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var s string
	_ = json.Unmarshal([]byte(raw), &s) // it is valid
	return s
}

// quoted gives JSON text of s.
func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always can be
	return strings.TrimSuffix(b.String(), "\n")
}
