package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	yaml "go.yaml.in/yaml/v4"

	"github.com/parleyhub/parley/cmd/parley/internal/yamlfile"
)

// place is where something stands.
type place struct{ line, column int }

// reader reads one scenario. It writes what it takes as JSON and leaves out what is at fault, so that what is left can be looked at too.
type reader struct {
	file     string
	places   map[string]place // of values, by their paths, which are those of the params: participants[0].id
	findings yamlfile.Findings
}

func (r *reader) fault(path string, n *yaml.Node, format string, args ...any) {
	f := yamlfile.At(n, format, args...)
	r.findings = append(r.findings, yamlfile.Finding{File: r.file, Line: f.Line, Column: f.Column, Field: path, What: f.What})
}

// scenario reads a whole text.
func (r *reader) scenario(doc []byte) *Scenario {
	n, faults := yamlfile.Parse(doc)
	for _, f := range faults {
		r.findings = append(r.findings, yamlfile.Finding{File: r.file, Line: f.Line, Column: f.Column, What: f.What})
	}
	switch {
	case n == nil && len(faults) > 0:
		return nil
	case n == nil:
		r.findings = append(r.findings, yamlfile.Finding{File: r.file, Line: 1, Column: 1, What: expectedScenario})
		return nil
	case !yamlfile.IsMapping(n):
		r.fault("", n, expectedScenario)
		return nil
	}
	taken := r.value("", root, n)
	if taken == nil {
		return nil
	}
	s := &Scenario{}
	if err := json.Unmarshal(taken, s); err != nil {
		panic(fmt.Sprintf("the table of scenarios does not fit its types: %v", err)) // a test holds them together
	}
	r.agree(s)
	return s
}

const expectedScenario = `expected a scenario, such as "participants: [{id: ann, kind: human}]"`

// value reads a value: nil where it is at fault as a whole.
func (r *reader) value(path string, s *shape, n *yaml.Node) json.RawMessage {
	if !yamlfile.Itself(n) {
		r.fault(path, n, yamlfile.NotItself)
		return nil
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && s.kind != anything {
		r.fault(path, n, "it has no value: give it one, or leave it out")
		return nil
	}
	r.places[path] = place{n.Line, n.Column}
	switch {
	case s.kind == anything, s.open:
		return r.any(path, s, n)
	case s.kind == object:
		return r.object(path, s, n)
	case s.kind == list:
		return r.list(path, s, n)
	case s.kind == integer:
		return r.integer(path, s, n)
	}
	return r.text(path, s, n)
}

func (r *reader) object(path string, s *shape, n *yaml.Node) json.RawMessage {
	if !yamlfile.IsMapping(n) {
		r.fault(path, n, "expected members below it, such as %s", s.such())
		return nil
	}
	var b builder
	given := map[string]bool{}
	for _, m := range r.members(path, n) {
		name := m.Key.Value
		given[name] = true
		below := s.member(name)
		if below == nil {
			r.fault("", m.Key, "unknown: %q%s", join(path, yamlfile.Brief(name)), unknown(path, name, s.names()))
			continue
		}
		b.add(name, r.value(join(path, name), below, m.Value))
	}
	for _, m := range s.members {
		if m.required && !given[m.name] {
			r.fault(path, n, "%s is missing", m.name)
		}
	}
	return b.object()
}

// members gives those members of a mapping that have a name of their own, and tells of the others.
func (r *reader) members(path string, n *yaml.Node) (named []yamlfile.Member) {
	for _, m := range yamlfile.Members(n) {
		switch {
		case !m.Named:
			r.fault(path, m.Key, "expected a name")
		case m.Before > 0:
			r.fault(join(path, yamlfile.Brief(m.Key.Value)), m.Key, "it is given on line %d already", m.Before)
		default:
			named = append(named, m)
		}
	}
	return named
}

// list reads all items. One that is at fault keeps its place, empty.
func (r *reader) list(path string, s *shape, n *yaml.Node) json.RawMessage {
	if !yamlfile.IsList(n) {
		r.fault(path, n, "expected a list")
		return nil
	}
	if got := int64(len(n.Content)); got < s.least || got > s.most {
		r.fault(path, n, "expected %d to %d items", s.least, s.most)
		return nil
	}
	items := make([]json.RawMessage, len(n.Content))
	for i, item := range n.Content {
		if items[i] = r.value(fmt.Sprintf("%s[%d]", path, i), s.item, item); items[i] == nil {
			items[i] = json.RawMessage("null")
		}
	}
	return array(items)
}

func (r *reader) text(path string, s *shape, n *yaml.Node) json.RawMessage {
	switch {
	case n.Kind != yaml.ScalarNode:
		r.fault(path, n, "expected a string")
	case n.ShortTag() != "!!str":
		r.fault(path, n, "expected a string: put it in quotes")
	default:
		what := s.text(n.Value)
		if what == "" {
			return quote(n.Value)
		}
		r.fault(path, n, "%s", what)
	}
	return nil
}

func (r *reader) integer(path string, s *shape, n *yaml.Node) json.RawMessage {
	t := n.Value
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" {
		t = ""
	}
	if what := s.integer(t); what != "" {
		r.fault(path, n, "%s", what)
		return nil
	}
	return json.RawMessage(t)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// flagged are params of createConversation that no file says, because they are another's each time.
var flagged = map[string]string{"conversationId": "--id", "clientRequestId": "--key"}

// unknown ends the message about a name that is none.
func unknown(path, name string, names []string) string {
	if flag, ok := flagged[name]; ok && path == "" {
		return ": it is the flag " + flag + " of 'parley conversation create'"
	}
	if near := yamlfile.Nearest(name, names); near != "" {
		return "; is it " + near + "?"
	}
	return ": expected " + strings.Join(names, ", ")
}

// builder writes a JSON object.
type builder struct{ b bytes.Buffer }

// add adds a member, if it has a value.
func (b *builder) add(name string, value json.RawMessage) {
	if value == nil {
		return
	}
	if b.b.Len() > 0 {
		b.b.WriteByte(',')
	}
	b.b.Write(quote(name))
	b.b.WriteByte(':')
	b.b.Write(value)
}

func (b *builder) object() json.RawMessage {
	return append(append([]byte{'{'}, b.b.Bytes()...), '}')
}

func array(items []json.RawMessage) json.RawMessage {
	b := []byte{'['}
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, item...)
	}
	return append(b, ']')
}

// quote writes a string as JSON.
func quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string, into memory
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
