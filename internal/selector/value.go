package selector

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
	list
	object
)

// value is a JSON value that keeps the order of its members and the text of its numbers.
type value struct {
	kind kind
	raw  string // its text in the data
	text string // of a string
	*kids
}

// kids are the children of a list or an object. It is nil for other values, so check the kind
// first.
type kids struct {
	items   []value
	members []member
	byName  map[string]int // created at the first lookup among many members
}

type member struct {
	name string
	raw  string // the text of the name in the data
	value
}

// manyMembers is the number of members from which a map is used to find them.
const manyMembers = 16

// decode parses JSON. It returns nil if it is invalid. The last one of duplicate members counts.
func decode(data []byte) *value {
	if len(data) == 0 || !json.Valid(data) {
		return nil
	}
	r := reader{s: string(data)}
	v := r.value()
	return &v
}

// reader reads JSON that is known to be valid.
type reader struct {
	s string
	i int
}

func (r *reader) space() {
	for r.i < len(r.s) && r.s[r.i] <= ' ' {
		r.i++
	}
}

// next skips whitespace and separators, and returns the byte after them.
func (r *reader) next() byte {
	r.space()
	for r.s[r.i] == ',' || r.s[r.i] == ':' {
		r.i++
		r.space()
	}
	return r.s[r.i]
}

func (r *reader) value() (v value) {
	c := r.next()
	start := r.i
	switch c {
	case '{':
		v.kind, v.kids = object, &kids{}
		for r.i++; r.next() != '}'; {
			m := member{raw: r.quoted()}
			m.name = unquoted(m.raw)
			m.value = r.value()
			v.members = append(v.members, m)
		}
		r.i++
	case '[':
		v.kind, v.kids = list, &kids{}
		for r.i++; r.next() != ']'; {
			v.items = append(v.items, r.value())
		}
		r.i++
	case '"':
		v.kind = text
		v.text = unquoted(r.quoted())
	default:
		v.kind = number
		switch c {
		case 't', 'f':
			v.kind = boolean
		case 'n':
			v.kind = null
		}
		for r.i < len(r.s) && !strings.ContainsRune(",:]} \t\r\n", rune(r.s[r.i])) {
			r.i++
		}
	}
	v.raw = r.s[start:r.i]
	return v
}

// quoted returns a string with its quotes.
func (r *reader) quoted() string {
	start := r.i
	for r.i++; r.s[r.i] != '"'; r.i++ {
		if r.s[r.i] == '\\' {
			r.i++
		}
	}
	r.i++
	return r.s[start:r.i]
}

func unquoted(raw string) string {
	if !strings.Contains(raw, `\`) {
		return raw[1 : len(raw)-1]
	}
	var s string
	if err := json.Unmarshal([]byte(raw), &s); err != nil { // raw is valid
		return raw
	}
	return s
}

// get returns a member of an object, or nil. Other values have none.
func (v *value) get(name string) *value {
	if v.kind != object {
		return nil
	}
	if len(v.members) > manyMembers {
		v.index()
		if i, there := v.byName[name]; there {
			return &v.members[i].value
		}
		return nil
	}
	for i := len(v.members) - 1; i >= 0; i-- {
		if v.members[i].name == name {
			return &v.members[i].value
		}
	}
	return nil
}

// index creates the map of many members.
func (v *value) index() {
	if v.byName != nil || len(v.members) <= manyMembers {
		return
	}
	v.byName = make(map[string]int, len(v.members))
	for i := range v.members {
		v.byName[v.members[i].name] = i
	}
}

// indexAll creates the maps of a value and its children, so that it is safe for concurrent use.
func (v *value) indexAll() {
	if v.kind == object {
		v.index()
	}
	for i := range v.width() {
		v.child(i).indexAll()
	}
}

// width returns the number of direct children.
func (v *value) width() int {
	if v.kids == nil {
		return 0
	}
	return len(v.items) + len(v.members)
}

// child returns a direct child.
func (v *value) child(i int) *value {
	if v.kind == list {
		return &v.items[i]
	}
	return &v.members[i].value
}
