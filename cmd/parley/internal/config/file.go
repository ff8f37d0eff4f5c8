package config

import (
	"fmt"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v4"

	"github.com/parleyhub/parley/internal/yamlfile"
)

// given is the value of a setting at one place.
type given struct {
	texts  []string
	origin Origin
}

// reader reads one file.
type reader struct {
	name   string
	given  map[string]given
	faults Faults
}

// readFile reads a file. If the file cannot be read, the error is that of the system.
func readFile(path string) (map[string]given, Faults, error) {
	text, err := yamlfile.Read(path)
	if err != nil {
		return nil, nil, err
	}
	found, faults := parse(path, text)
	return found, faults, nil
}

// parse parses the text of a file. An empty file sets nothing.
func parse(name string, text []byte) (map[string]given, Faults) {
	r := &reader{name: name, given: map[string]given{}}
	root, faults := yamlfile.Parse(text)
	for _, f := range faults {
		r.fault(f.Line, f.Column, "", "%s", f.What)
	}
	if root != nil {
		r.root(root)
	}
	r.faults.sort()
	return r.given, r.faults
}

func (r *reader) fault(line, column int, setting, format string, args ...any) {
	r.faults = append(r.faults, Fault{
		Origin:  Origin{Where: FromFile, Name: r.name, Line: max(line, 1), Column: max(column, 1)},
		Setting: setting, What: fmt.Sprintf(format, args...),
	})
}

func (r *reader) faultAt(n *yaml.Node, setting, format string, args ...any) {
	r.fault(n.Line, n.Column, setting, format, args...)
}

func (r *reader) root(n *yaml.Node) {
	if !yamlfile.IsMapping(n) {
		r.faultAt(n, "", "expected settings, such as \"listen: 127.0.0.1:7447\"")
		return
	}
	r.mapping(n, "")
}

// mapping reads the keys below a prefix, which is empty or ends with a dot.
func (r *reader) mapping(n *yaml.Node, prefix string) {
	for _, m := range yamlfile.Members(n) {
		name := m.Key.Value
		group, below, dotted := strings.Cut(name, ".")
		switch {
		case !m.Named:
			r.faultAt(m.Key, "", "expected the name of a setting")
		case m.Before > 0:
			r.faultAt(m.Key, prefix+yamlfile.Brief(name), "it is set on line %d already", m.Before)
		case dotted && slices.Contains(groups(), group):
			r.faultAt(m.Key, "", "unknown setting %q: write %s below %s", yamlfile.Brief(prefix+name), yamlfile.Brief(below),
				group)
		default:
			r.entry(m.Key, m.Value, prefix+name)
		}
	}
}

func (r *reader) entry(key, value *yaml.Node, name string) {
	if !r.itself(name, value) {
		return
	}
	if s, ok := Find(name); ok {
		r.setting(s, key, value)
		return
	}
	if !slices.Contains(groups(), name) {
		r.faultAt(key, "", "unknown setting %q%s", yamlfile.Brief(name), suggestion(name))
		return
	}
	if !yamlfile.IsMapping(value) {
		r.faultAt(value, name, "expected settings below it, such as %s", firstBelow(name))
		return
	}
	r.mapping(value, name+".")
}

// itself refuses aliases and anchors.
func (r *reader) itself(name string, n *yaml.Node) bool {
	if !yamlfile.Itself(n) {
		r.faultAt(n, name, yamlfile.NotItself)
		return false
	}
	return true
}

// setting reads the value of one setting.
func (r *reader) setting(s Setting, key, value *yaml.Node) {
	origin := Origin{Where: FromFile, Name: r.name, Line: key.Line, Column: key.Column}
	if s.list() {
		if texts, ok := r.list(s, value); ok {
			r.given[s.Name] = given{texts, origin}
		}
		return
	}
	if !r.scalar(s, value) {
		return
	}
	if err := s.set(&Config{}, []string{value.Value}); err != nil {
		r.faultAt(value, s.Name, "%s", err)
		return
	}
	r.given[s.Name] = given{[]string{value.Value}, origin}
}

// list reads all items, so that every fault is reported.
func (r *reader) list(s Setting, value *yaml.Node) (texts []string, ok bool) {
	if !yamlfile.IsList(value) {
		r.faultAt(value, s.Name, "expected a list, each %s", s.rule.expected)
		return nil, false
	}
	if len(value.Content) > maxItems {
		r.faultAt(value, s.Name, "expected at most %d", maxItems)
		return nil, false
	}
	ok = true
	for _, item := range value.Content {
		if !r.scalar(s, item) {
			ok = false
			continue
		}
		if err := s.item(texts, item.Value); err != nil {
			r.faultAt(item, s.Name, "%s", err)
			ok = false
		}
		texts = append(texts, item.Value)
	}
	return texts, ok
}

// tags are the YAML types for a kind of setting.
var tags = map[string][]string{
	"string": {"!!str"}, "list": {"!!str"}, "boolean": {"!!bool"}, "integer": {"!!int"}, "number": {"!!int", "!!float"},
}

// scalar refuses a value of another type than that of the setting.
func (r *reader) scalar(s Setting, n *yaml.Node) bool {
	switch {
	case !r.itself(s.Name, n):
	case n.Kind != yaml.ScalarNode:
		r.faultAt(n, s.Name, "%s", s.expectation())
	case n.ShortTag() == "!!null":
		r.faultAt(n, s.Name, "it has no value: set one, or remove the key")
	case slices.Contains(tags[s.kind()], n.ShortTag()):
		return true
	case s.kind() == "string" || s.kind() == "list":
		r.faultAt(n, s.Name, "expected a string: put it in quotes")
	default:
		r.faultAt(n, s.Name, "%s", s.expectation())
	}
	return false
}
