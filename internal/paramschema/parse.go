package paramschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

// parseLimits are the limits of a JSON text.
type parseLimits struct {
	bytes, depth, nodes int
}

// fault is the reason to refuse JSON, and its place.
type fault struct {
	sentinel error
	path     []step
	message  string
	expected string
}

// step is one step into a value: the name of a member, or an index that is not negative.
type step struct {
	name  string
	index int
}

// parser reads compact JSON that is known to be valid.
type parser struct {
	parseLimits
	text  string
	pos   int
	nodes int
	path  []step
}

// parse reads JSON. It must be UTF-8, without duplicate names, and with numbers of a limited size.
func parse(raw []byte, most parseLimits) (*value, *fault) {
	if len(raw) > most.bytes {
		return nil, &fault{parley.ErrTooLarge, nil, fmt.Sprintf("it has %d bytes", len(raw)), fmt.Sprintf("at most %d",
			most.bytes)}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil || !utf8.Valid(raw) {
		return nil, &fault{parley.ErrInvalidParams, nil, "it is not JSON", "one JSON value in UTF-8"}
	}
	p := &parser{parseLimits: most, text: compact.String()}
	return p.value(1)
}

// value reads the value at the position, which has the given depth.
func (p *parser) value(depth int) (*value, *fault) {
	p.nodes++
	if p.nodes > p.parseLimits.nodes {
		return nil, p.fault(parley.ErrTooLarge, "there are too many values", fmt.Sprintf("at most %d", p.parseLimits.nodes))
	}
	v := &value{at: p.pos, nodes: 1}
	var f *fault
	switch p.text[p.pos] {
	case '{':
		v.kind, f = object, p.object(v, depth)
	case '[':
		v.kind, f = array, p.array(v, depth)
	default:
		f = p.scalar(v)
	}
	v.size = p.pos - v.at
	return v, f
}

func (p *parser) object(v *value, depth int) *fault {
	if depth > p.depth {
		return p.fault(parley.ErrTooLarge, "it nests too deep", fmt.Sprintf("at most %d levels", p.depth))
	}
	for p.pos++; p.text[p.pos] != '}'; p.comma() {
		raw := p.string()
		m := member{name: unquote(raw), raw: raw}
		p.pos++ // the colon
		if v.find(m.name) >= 0 {
			return p.fault(parley.ErrInvalidParams, fmt.Sprintf("it has %s twice", showName(m.name)), "each name once")
		}
		p.path = append(p.path, step{m.name, -1})
		var f *fault
		if m.value, f = p.value(depth + 1); f != nil {
			return f
		}
		p.path = p.path[:len(p.path)-1]
		v.addMember(m)
		v.nodes += m.value.nodes
	}
	p.pos++
	return nil
}

// addMember adds a member at the end.
func (v *value) addMember(m member) {
	v.members = append(v.members, m)
	switch n := len(v.members); {
	case n == manyMembers+1:
		v.setMembers(v.members)
	case n > manyMembers:
		v.byName[m.name] = n - 1
	}
}

func (p *parser) array(v *value, depth int) *fault {
	if depth > p.depth {
		return p.fault(parley.ErrTooLarge, "it nests too deep", fmt.Sprintf("at most %d levels", p.depth))
	}
	for p.pos++; p.text[p.pos] != ']'; p.comma() {
		p.path = append(p.path, step{index: len(v.items)})
		item, f := p.value(depth + 1)
		if f != nil {
			return f
		}
		p.path = p.path[:len(p.path)-1]
		v.items = append(v.items, item)
		v.nodes += item.nodes
	}
	p.pos++
	return nil
}

// comma skips a comma, if there is one.
func (p *parser) comma() {
	if p.text[p.pos] == ',' {
		p.pos++
	}
}

// string skips a JSON string and returns its text.
func (p *parser) string() string {
	begin := p.pos
	for p.pos++; p.text[p.pos] != '"'; p.pos++ {
		if p.text[p.pos] == '\\' {
			p.pos++
		}
	}
	p.pos++
	return p.text[begin:p.pos]
}

func (p *parser) scalar(v *value) *fault {
	if p.text[p.pos] == '"' {
		v.kind, v.raw = text, p.string()
		return nil
	}
	rest := p.text[p.pos:]
	if end := strings.IndexAny(rest, ",]}"); end >= 0 {
		rest = rest[:end]
	}
	p.pos += len(rest)
	v.raw = rest
	switch rest[0] {
	case 'n':
		v.kind = null
	case 't', 'f':
		v.kind = boolean
	default:
		v.kind = number
		return p.number(v)
	}
	return nil
}

// Numbers over these limits are large. Usual spellings of doubles are below them.
const (
	largeBytes    = 24
	largeExponent = 32
)

// number refuses numbers that are slow to process.
func (p *parser) number(v *value) *fault {
	if len(v.raw) > MaxNumberBytes {
		return p.fault(parley.ErrTooLarge, clip(v.raw)+" is a number too long", fmt.Sprintf("at most %d bytes",
			MaxNumberBytes))
	}
	v.large = len(v.raw) > largeBytes
	i := strings.IndexAny(v.raw, "eE")
	if i < 0 {
		return nil
	}
	e, err := strconv.Atoi(v.raw[i+1:])
	if err != nil || max(e, -e) > MaxExponent {
		return p.fault(parley.ErrTooLarge, clip(v.raw)+" has an exponent too large", fmt.Sprintf("at most %d to either side",
			MaxExponent))
	}
	v.large = v.large || max(e, -e) > largeExponent
	return nil
}

func (p *parser) fault(sentinel error, message, expected string) *fault {
	return &fault{sentinel, p.path, message, expected}
}
