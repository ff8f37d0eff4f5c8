package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v4"
)

// maxFile bounds a configuration file, in bytes.
const maxFile = 1 << 20

// given is what one place says of a setting.
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

// readFile reads the file at a path. The error is that of the system where it cannot be read at all.
func readFile(path string) (map[string]given, Faults, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, nil, err
	}
	found, faults := parse(path, text)
	return found, faults, nil
}

// parse reads the text of a file.
func parse(name string, text []byte) (map[string]given, Faults) {
	r := &reader{name: name, given: map[string]given{}}
	if r.readable(text) {
		r.document(text)
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

// readable refuses what is no text; the parser of YAML does not say where.
func (r *reader) readable(text []byte) bool {
	if len(text) > maxFile {
		r.fault(1, 1, "", "expected a file of at most %d bytes", maxFile)
		return false
	}
	line, column := 1, 1
	for len(text) > 0 {
		c, size := utf8.DecodeRune(text)
		if c == utf8.RuneError && size == 1 || c < ' ' && !strings.ContainsRune("\t\r\n", c) {
			r.fault(line, column, "", "expected UTF-8 without control characters")
			return false
		}
		column++
		if c == '\n' {
			line, column = line+1, 1
		}
		text = text[size:]
	}
	return true
}

// document reads the one document of a file. An empty file is one that sets nothing.
func (r *reader) document(text []byte) {
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		panic(err) // the options are part of the program
	}
	var first, second yaml.Node
	err = loader.Load(&first)
	if errors.Is(err, io.EOF) {
		return
	}
	if err == nil {
		r.root(&first)
		err = loader.Load(&second)
	}
	switch {
	case err == nil:
		r.faultAt(&second, "", "expected one document")
	case !errors.Is(err, io.EOF):
		r.broken(err)
	}
}

// broken tells of text that is not YAML.
func (r *reader) broken(err error) {
	if at := (*yaml.LoadError)(nil); errors.As(err, &at) {
		since := ""
		if line := at.ContextMark.Line; line > 0 && line < at.Mark.Line {
			since = fmt.Sprintf(" for what began on line %d", line)
		}
		r.fault(at.Mark.Line, at.Mark.Column, "", "not YAML: %s%s", quoted.ReplaceAllLiteralString(at.Message, ""), since)
		return
	}
	r.fault(1, 1, "", "not YAML: %s", quoted.ReplaceAllLiteralString(err.Error(), ""))
}

// quoted is what the parser repeats of the file, such as the name of an anchor.
var quoted = regexp.MustCompile(` ?'.*'`)

func (r *reader) root(document *yaml.Node) {
	n := document
	if n.Kind == yaml.DocumentNode {
		if len(n.Content) == 0 {
			return
		}
		n = n.Content[0]
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode || n.ShortTag() != "!!map" {
		r.faultAt(n, "", "expected settings, such as \"listen: 127.0.0.1:7447\"")
		return
	}
	r.mapping(n, "")
}

// mapping reads the keys below a prefix, which is empty or ends with a dot.
func (r *reader) mapping(n *yaml.Node, prefix string) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
			r.faultAt(key, "", "expected the name of a setting")
			continue
		}
		if line, twice := seen[key.Value]; twice {
			r.faultAt(key, prefix+brief(key.Value), "it is set on line %d already", line)
			continue
		}
		seen[key.Value] = key.Line
		if group, below, dotted := strings.Cut(key.Value, "."); dotted && slices.Contains(groups(), group) {
			r.faultAt(key, "", "unknown setting %q: write %s below %s", brief(prefix+key.Value), brief(below), group)
			continue
		}
		r.entry(key, value, prefix+key.Value)
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
		r.faultAt(key, "", "unknown setting %q%s", brief(name), suggestion(name))
		return
	}
	if value.Kind != yaml.MappingNode || value.ShortTag() != "!!map" {
		r.faultAt(value, name, "expected settings below it, such as %s", firstBelow(name))
		return
	}
	r.mapping(value, name+".")
}

// itself refuses a value that stands for another, or that another may stand for.
func (r *reader) itself(name string, n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		r.faultAt(n, name, "expected the value itself: anchors and aliases are not taken")
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

// list reads all items, so that every fault among them is told of.
func (r *reader) list(s Setting, value *yaml.Node) (texts []string, ok bool) {
	if value.Kind != yaml.SequenceNode || value.ShortTag() != "!!seq" {
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

// tags are the types of YAML that a setting of a kind takes.
var tags = map[string][]string{
	"string": {"!!str"}, "list": {"!!str"}, "boolean": {"!!bool"}, "integer": {"!!int"}, "number": {"!!int", "!!float"},
}

// scalar refuses a value of another type than the setting's.
func (r *reader) scalar(s Setting, n *yaml.Node) bool {
	switch {
	case !r.itself(s.Name, n):
	case n.Kind != yaml.ScalarNode:
		r.faultAt(n, s.Name, "%s", s.expectation())
	case n.ShortTag() == "!!null":
		r.faultAt(n, s.Name, "it has no value: give it one, or leave it out")
	case slices.Contains(tags[s.kind()], n.ShortTag()):
		return true
	case s.kind() == "string" || s.kind() == "list":
		r.faultAt(n, s.Name, "expected a string: put it in quotes")
	default:
		r.faultAt(n, s.Name, "%s", s.expectation())
	}
	return false
}
