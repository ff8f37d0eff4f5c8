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

// value is a JSON value as it was written: with the order of its members and the text of its numbers.
type value struct {
	kind kind
	raw  string // as it stands in the data
	text string // of a text
	*kids
}

// kids are what a list or an object holds. A value without has none, so they are not to be asked of others.
type kids struct {
	items   []value
	members []member
	byName  map[string]int // of many members, once one was looked for
}

type member struct {
	name string
	raw  string // the name as it stands in the data
	value
}

// manyMembers is from when on members are looked up in a map.
const manyMembers = 16

// decode reads JSON; nil for what is none. Of a member that is there twice the last counts.
func decode(data []byte) *value {
	if len(data) == 0 || !json.Valid(data) {
		return nil
	}
	r := reader{s: string(data)}
	v := r.value()
	return &v
}

// reader reads what is known to be JSON.
type reader struct {
	s string
	i int
}

func (r *reader) space() {
	for r.i < len(r.s) && r.s[r.i] <= ' ' {
		r.i++
	}
}

// next skips space and what stands between values, and gives the byte after it.
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

// quoted gives a text with its quotes.
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
	if err := json.Unmarshal([]byte(raw), &s); err != nil { // it is JSON
		return raw
	}
	return s
}

// get gives a member of an object; nil where there is none, and of any other value.
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

// index makes the map of many members.
func (v *value) index() {
	if v.byName != nil || len(v.members) <= manyMembers {
		return
	}
	v.byName = make(map[string]int, len(v.members))
	for i := range v.members {
		v.byName[v.members[i].name] = i
	}
}

// indexAll makes the maps of a value and all that is in it: after that, it can be read from several goroutines.
func (v *value) indexAll() {
	if v.kind == object {
		v.index()
	}
	for i := range v.width() {
		v.child(i).indexAll()
	}
}

// width is how many values it directly holds.
func (v *value) width() int {
	if v.kids == nil {
		return 0
	}
	return len(v.items) + len(v.members)
}

// child gives one of them.
func (v *value) child(i int) *value {
	if v.kind == list {
		return &v.items[i]
	}
	return &v.members[i].value
}
