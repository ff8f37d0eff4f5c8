package shape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v4"

	"github.com/parleyhub/parley/internal/spelling"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// Reader reads one file. It returns valid values as JSON and leaves out invalid ones, so that the
// rest can be checked, too.
type Reader struct {
	// File is the name of the file in findings.
	File string
	// Expected is the expected content of a file that is empty or has another type.
	Expected string
	// Hint returns the end of the message about an unknown name. If it is nil or returns "", the
	// message has the nearest name, or all names.
	Hint func(path, name string) string

	// Findings are all faults in the order of their detection.
	Findings yamlfile.Findings
	places   map[string]place // of values by path, such as participants[0].id
}

// place is the position of a value.
type place struct{ line, column int }

// Read returns the valid part of a document of yamlfile.Parse for the shape root. It returns nil if
// nothing is valid.
func (r *Reader) Read(root *Shape, n *yaml.Node, faults []yamlfile.Fault) json.RawMessage {
	r.places = map[string]place{}
	for _, f := range faults {
		r.Findings = append(r.Findings, yamlfile.Finding{File: r.File, Line: f.Line, Column: f.Column, What: f.What})
	}
	switch {
	case n == nil && len(faults) > 0:
		return nil
	case n == nil:
		r.Findings = append(r.Findings, yamlfile.Finding{File: r.File, Line: 1, Column: 1, What: r.Expected})
		return nil
	case !yamlfile.IsMapping(n):
		r.fault("", n, "%s", r.Expected)
		return nil
	}
	return r.value("", root, n)
}

// At adds a finding for the value at a path. If the path has no value, the finding is for the whole
// file.
func (r *Reader) At(path, what string) { r.Findings = append(r.Findings, r.Finding(path, what)) }

// Finding returns a finding for the value at a path.
func (r *Reader) Finding(path, what string) yamlfile.Finding {
	at, ok := r.places[path]
	if !ok {
		at = r.places[""]
	}
	return yamlfile.Finding{File: r.File, Line: max(at.line, 1), Column: max(at.column, 1), Field: path, What: what}
}

// Has reports whether a value is at a path.
func (r *Reader) Has(path string) bool { _, ok := r.places[path]; return ok }

// Faulty reports whether there are faults at or below a path. The empty path is that of the file.
func (r *Reader) Faulty(path string) bool {
	return slices.ContainsFunc(r.Findings, func(f yamlfile.Finding) bool { return strings.HasPrefix(f.Field, path) })
}

func (r *Reader) fault(path string, n *yaml.Node, format string, args ...any) {
	f := yamlfile.At(n, format, args...)
	r.Findings = append(r.Findings, yamlfile.Finding{File: r.File, Line: f.Line, Column: f.Column, Field: path,
		What: f.What})
}

// value reads a value. It returns nil if the value as a whole is invalid.
func (r *Reader) value(path string, s *Shape, n *yaml.Node) json.RawMessage {
	if !yamlfile.Itself(n) {
		r.fault(path, n, yamlfile.NotItself)
		return nil
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && s.Kind != Anything {
		r.fault(path, n, "it has no value: set one, or remove the key")
		return nil
	}
	r.places[path] = place{n.Line, n.Column}
	switch {
	case s.Kind == Anything, s.Open:
		return r.any(path, s, n)
	case s.Kind == Object:
		return r.object(path, s, n)
	case s.Kind == List:
		return r.list(path, s, n)
	case s.Kind == Integer:
		return r.integer(path, s, n)
	case s.Kind == Boolean:
		return r.boolean(path, n)
	}
	return r.text(path, s, n)
}

func (r *Reader) object(path string, s *Shape, n *yaml.Node) json.RawMessage {
	switch {
	case !yamlfile.IsMapping(n) && s.Item != nil:
		r.fault(path, n, "expected members below it")
		return nil
	case !yamlfile.IsMapping(n):
		r.fault(path, n, "expected members below it, such as %s", s.such())
		return nil
	case s.Item != nil && int64(len(n.Content)/2) > s.Most:
		r.fault(path, n, "expected at most %d members", s.Most)
		return nil
	}
	var b builder
	given := map[string]bool{}
	for _, m := range r.members(path, n) {
		name := m.Key.Value
		given[name] = true
		below := s.Item
		if below == nil {
			below = s.member(name)
		}
		if below == nil {
			r.fault("", m.Key, "unknown: %q%s", join(path, yamlfile.Brief(name)), r.unknown(path, name, s.names()))
			continue
		}
		b.add(name, r.value(join(path, yamlfile.Brief(name)), below, m.Value))
	}
	for _, m := range s.Members {
		if m.Required && !given[m.Name] {
			r.fault(path, n, "%s is missing", m.Name)
		}
	}
	return b.object()
}

// members returns the members of a mapping with unique string names, and reports the others.
func (r *Reader) members(path string, n *yaml.Node) (named []yamlfile.Member) {
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

// list reads all items. An invalid item keeps its place and is empty.
func (r *Reader) list(path string, s *Shape, n *yaml.Node) json.RawMessage {
	if !yamlfile.IsList(n) {
		r.fault(path, n, "expected a list")
		return nil
	}
	if got := int64(len(n.Content)); got < s.Least || got > s.Most {
		r.fault(path, n, "expected %d to %d items", s.Least, s.Most)
		return nil
	}
	items := make([]json.RawMessage, len(n.Content))
	for i, item := range n.Content {
		if items[i] = r.value(fmt.Sprintf("%s[%d]", path, i), s.Item, item); items[i] == nil {
			items[i] = json.RawMessage("null")
		}
	}
	return array(items)
}

func (r *Reader) text(path string, s *Shape, n *yaml.Node) json.RawMessage {
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

func (r *Reader) integer(path string, s *Shape, n *yaml.Node) json.RawMessage {
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

func (r *Reader) boolean(path string, n *yaml.Node) json.RawMessage {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Value != "true" && n.Value != "false" {
		r.fault(path, n, "expected true or false")
		return nil
	}
	return json.RawMessage(n.Value)
}

// unknown returns the end of the message about an unknown name.
func (r *Reader) unknown(path, name string, names []string) string {
	if r.Hint != nil {
		if hint := r.Hint(path, name); hint != "" {
			return hint
		}
	}
	if near := spelling.Nearest(name, names); near != "" {
		return "; is it " + near + "?"
	}
	return ": expected " + strings.Join(names, ", ")
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// builder builds a JSON object.
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

// quote returns a string as JSON.
func quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string, into memory
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
