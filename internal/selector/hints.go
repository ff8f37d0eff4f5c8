package selector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
)

// hints are compiled llm_hints.
type hints struct {
	include  *names // nil means everything
	exclude  *names
	template []part
}

// names is a tree of dotted member names. nil means everything below.
type names struct{ below map[string]*names }

// part is a text of a template and the name after it.
type part struct {
	text string
	name []string
}

func compileHints(h *parley.Hints) hints {
	if h == nil {
		return hints{}
	}
	var c hints
	if h.Include != nil {
		c.include = namesOf(h.Include)
	}
	if len(h.Exclude) > 0 {
		c.exclude = namesOf(h.Exclude)
	}
	rest := h.Template
	for rest != "" {
		text, after, open := strings.Cut(rest, "{{")
		name, next, _ := strings.Cut(after, "}}")
		p := part{text: text}
		if open {
			p.name = strings.Split(strings.TrimSpace(name), ".")
		}
		c.template = append(c.template, p)
		rest = next
	}
	return c
}

func namesOf(dotted []string) *names {
	root := &names{below: map[string]*names{}}
	for _, name := range dotted {
		root.addName(strings.Split(name, "."))
	}
	return root
}

// addName adds a name, unless a shorter one includes it.
func (n *names) addName(name []string) {
	next, there := n.below[name[0]]
	switch {
	case len(name) == 1:
		n.below[name[0]] = nil
		return
	case there && next == nil:
		return
	case !there:
		next = &names{below: map[string]*names{}}
		n.below[name[0]] = next
	}
	next.addName(name[1:])
}

// Apply applies the hints of selector i to data. The result is compact and in the order of the
// data: the include names without the exclude names, or the text of the template. A dotted name
// leads through objects, and through each element of lists. A value that should be an object
// becomes null under include, and stays under exclude. Apply returns ErrTooLarge if the text of a
// template exceeds MaxEventBytes.
func (s *Set) Apply(i int, data json.RawMessage) (json.RawMessage, error) {
	if i < 0 || i >= len(s.hints) || s.Subscriptions.Selectors[i].LLMHints == nil {
		return data, nil
	}
	root := decode(data)
	switch {
	case root != nil:
	case len(bytes.TrimSpace(data)) > 0:
		return nil, fmt.Errorf("the data is not JSON")
	default:
		root = &value{kind: null, raw: "null"}
	}
	h := &s.hints[i]
	if h.include != nil {
		v := include(root, h.include)
		root = &v
	}
	if h.exclude != nil {
		v := exclude(root, h.exclude)
		root = &v
	}
	if h.template != nil {
		return h.fill(root)
	}
	var b bytes.Buffer
	root.write(&b)
	return b.Bytes(), nil
}

func include(v *value, n *names) value {
	switch v.kind {
	case object:
		out := value{kind: object, kids: &kids{}}
		for i := range v.members {
			m := v.members[i]
			below, named := n.below[m.name]
			if !named {
				continue
			}
			if below != nil {
				m.value = include(&m.value, below)
			}
			out.members = append(out.members, m)
		}
		return out
	case list:
		return eachItem(v, n, include)
	}
	return value{kind: null, raw: "null"}
}

func exclude(v *value, n *names) value {
	switch v.kind {
	case object:
		out := value{kind: object, kids: &kids{}}
		for i := range v.members {
			m := v.members[i]
			below, named := n.below[m.name]
			if named && below == nil {
				continue
			}
			if named {
				m.value = exclude(&m.value, below)
			}
			out.members = append(out.members, m)
		}
		return out
	case list:
		return eachItem(v, n, exclude)
	}
	return *v
}

func eachItem(v *value, n *names, project func(*value, *names) value) value {
	out := value{kind: list, kids: &kids{items: make([]value, len(v.items))}}
	for i := range v.items {
		out.items[i] = project(&v.items[i], n)
	}
	return out
}

// write writes a value without whitespace, and keeps the text of strings and numbers.
func (v *value) write(b *bytes.Buffer) {
	switch v.kind {
	case object:
		b.WriteByte('{')
		for i := range v.members {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(v.members[i].raw)
			b.WriteByte(':')
			v.members[i].write(b)
		}
		b.WriteByte('}')
	case list:
		b.WriteByte('[')
		for i := range v.items {
			if i > 0 {
				b.WriteByte(',')
			}
			v.items[i].write(b)
		}
		b.WriteByte(']')
	default:
		b.WriteString(v.raw)
	}
}

// fill returns the text of the template as JSON.
func (h *hints) fill(root *value) (json.RawMessage, error) {
	var b bytes.Buffer
	for _, p := range h.template {
		b.WriteString(p.text)
		if p.name != nil {
			put(&b, root, p.name)
		}
		if b.Len() > parley.MaxEventBytes {
			return nil, parley.Refuse(parley.ErrTooLarge, "the text of the template has too many bytes",
				fmt.Sprintf("at most %d", parley.MaxEventBytes))
		}
	}
	return quote(b.String())
}

// put writes the value of a name: a string unchanged, and any other value as JSON. It writes
// nothing for a missing value.
func put(b *bytes.Buffer, root *value, name []string) {
	switch v := root.lookup(name); {
	case v == nil:
	case v.kind == text:
		b.WriteString(v.text)
	default:
		v.write(b)
	}
}

// lookup returns the value of a name. Through a list, it returns the list of the values in its
// elements.
func (v *value) lookup(name []string) *value {
	switch {
	case len(name) == 0:
		return v
	case v.kind == object:
		m := v.get(name[0])
		if m == nil {
			return nil
		}
		return m.lookup(name[1:])
	case v.kind != list:
		return nil
	}
	found := &value{kind: list, kids: &kids{}}
	for i := range v.items {
		if one := v.items[i].lookup(name); one != nil {
			found.items = append(found.items, *one)
		}
	}
	return found
}

// quote returns a string as JSON without HTML escapes.
func quote(s string) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}
