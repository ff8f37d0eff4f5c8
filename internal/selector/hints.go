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
	include  *names // nil: everything
	exclude  *names
	template []part
}

// names are those of members, by their first part; nil stands for all that is below.
type names struct{ below map[string]*names }

// part is a text of a template, or the name that stands after it.
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
		root.add(strings.Split(name, "."))
	}
	return root
}

// add adds a name; one that stands for all that is below it stays.
func (n *names) add(name []string) {
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
	next.add(name[1:])
}

// Apply gives data by the hints of selector i, compact and in the order of the data: what include names, without what exclude names, as the text of the template. A dotted name
// leads through objects, and through lists to each of their elements; what is no object where one is needed becomes null by include, and stays with exclude. ErrTooLarge says
// that the text of a template has more than MaxEventBytes.
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

// write writes a value without space. The texts and numbers in it stay as they were written.
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

// fill gives the text of the template, as JSON.
func (h *hints) fill(root *value) (json.RawMessage, error) {
	var b bytes.Buffer
	for _, p := range h.template {
		b.WriteString(p.text)
		if p.name != nil {
			put(&b, root, p.name)
		}
		if b.Len() > parley.MaxEventBytes {
			return nil, parley.Refuse(parley.ErrTooLarge, "the text of the template has too many bytes", fmt.Sprintf("at most %d", parley.MaxEventBytes))
		}
	}
	return quote(b.String())
}

// put writes what stands at a name: a text as it is, and anything else as JSON; nothing where there is nothing.
func put(b *bytes.Buffer, root *value, name []string) {
	switch v := root.lookup(name); {
	case v == nil:
	case v.kind == text:
		b.WriteString(v.text)
	default:
		v.write(b)
	}
}

// lookup gives what stands at a name: through a list, the list of what stands there in its elements.
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

// quote gives a text as JSON without escapes of HTML.
func quote(s string) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}
