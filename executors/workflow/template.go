package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley/internal/selector"
)

// template is JSON in which strings that start with $ are paths.
type template struct {
	value any            // a scalar
	path  *selector.Path // or a path
	list  []*template    // or a list
	names []string       // or an object, with sorted names
	items map[string]*template
	text  string // the text of the path
}

// roots are the members of the document that paths select from.
var roots = []string{"context", "parameters", "steps", "trigger"}

// template parses a template. before has the steps that end before it is filled.
func (p *parser) template(path string, raw json.RawMessage, before map[string]bool) *template {
	v, err := decode(raw)
	if err != nil {
		p.fault(path, "expected JSON")
		return nil
	}
	return p.templateOf(path, v, before)
}

func (p *parser) templateOf(path string, v any, before map[string]bool) *template {
	switch v := v.(type) {
	case string:
		return p.pathOf(path, v, before)
	case []any:
		t := &template{list: []*template{}}
		for i, item := range v {
			t.list = append(t.list, p.templateOf(fmt.Sprintf("%s[%d]", path, i), item, before))
		}
		return t
	case map[string]any:
		t := &template{items: map[string]*template{}}
		for name := range v {
			t.names = append(t.names, name)
		}
		slices.Sort(t.names)
		for _, name := range t.names {
			t.items[name] = p.templateOf(path+"."+brief(name), v[name], before)
		}
		return t
	default:
		return &template{value: v}
	}
}

// pathOf parses a string: a path or a literal.
func (p *parser) pathOf(path, text string, before map[string]bool) *template {
	switch {
	case strings.HasPrefix(text, "$$"):
		return &template{value: text[1:]}
	case !strings.HasPrefix(text, "$"):
		return &template{value: text}
	case len(text) > MaxPathBytes:
		p.fault(path, "expected a path of at most %d bytes", MaxPathBytes)
		return nil
	}
	q, err := selector.ParsePath(text)
	if err != nil {
		p.fault(path, "expected a JSONPath (RFC 9535), or $$ for a string that starts with $: %v", err)
		return nil
	}
	if what := misses(q, before); what != "" {
		p.fault(path, "%s", what)
	}
	return &template{path: q, text: text}
}

// misses returns the error of a path that can never match. It is empty otherwise.
func misses(q *selector.Path, before map[string]bool) string {
	root, ok := q.NameAt(0)
	switch {
	case ok && !slices.Contains(roots, root):
		return "expected a path into " + strings.Join(roots, ", ")
	case root != "steps":
		return ""
	}
	if name, ok := q.NameAt(1); ok && !before[name] {
		return "expected the name of an earlier step: there is no step " + brief(name) + " before this"
	}
	return ""
}

// errNothing means that a path has no match.
var errNothing = errors.New("no match")

// fill returns the value of a template. If optional is true, it leaves out members and items whose
// path has no match. It returns errNothing if the whole template has no match.
func (t *template) fill(scope *selector.Document, at string, optional bool) (any, error) {
	switch {
	case t.path != nil:
		return t.find(scope, at)
	case t.list != nil:
		list := []any{}
		for i, item := range t.list {
			v, err := item.fill(scope, fmt.Sprintf("%s[%d]", at, i), optional)
			if optional && errors.Is(err, errNothing) {
				continue
			}
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case t.items != nil:
		object := map[string]any{}
		for _, name := range t.names {
			v, err := t.items[name].fill(scope, at+"."+name, optional)
			if optional && errors.Is(err, errNothing) {
				continue
			}
			if err != nil {
				return nil, err
			}
			object[name] = v
		}
		return object, nil
	}
	return t.value, nil
}

func (t *template) find(scope *selector.Document, at string) (any, error) {
	found, err := t.path.Find(scope)
	if err == nil && len(found) == 0 {
		err = errNothing
	}
	all := make([]any, len(found))
	for i := 0; err == nil && i < len(found); i++ {
		all[i], err = decode(found[i])
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %s: %w", at, t.text, err)
	case t.path.Singular():
		return all[0], nil
	}
	return all, nil
}

// decode decodes JSON. Numbers keep their text.
func decode(raw json.RawMessage) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// encode returns compact JSON without escaping of < and >.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
