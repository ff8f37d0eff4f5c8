package selector

import (
	"encoding/json"
	"fmt"
)

// ErrTooManySteps means that a path needs more than MaxSteps steps on a document.
var ErrTooManySteps = fmt.Errorf("the path takes more than %d steps", MaxSteps)

// Document is a JSON document for paths. It is not safe for concurrent use.
type Document struct{ root *value }

// ReadDocument decodes JSON. Paths find nothing in invalid JSON.
func ReadDocument(raw json.RawMessage) *Document { return &Document{decode(raw)} }

// Path is a compiled JSONPath of RFC 9535. It is safe for concurrent use.
type Path struct{ query *query }

// ParsePath compiles a path, with the limits of the paths of selectors.
func ParsePath(path string) (*Path, error) {
	q, err := compilePath(path, &patterns{})
	if err != nil {
		return nil, err
	}
	return &Path{q}, nil
}

// Singular reports whether the path finds at most one value in any document.
func (p *Path) Singular() bool { return p.query.singular }

// NameAt returns the name that segment i selects. It returns false if the segment is missing or
// selects anything else.
func (p *Path) NameAt(i int) (string, bool) {
	if i >= len(p.query.segments) {
		return "", false
	}
	s := p.query.segments[i]
	return s.picks[0].name, !s.descendant && len(s.picks) == 1 && s.picks[0].kind == pickName
}

// Find returns the values of the path as they are written, in the order of the document. It returns
// ErrTooManySteps if it needs more than MaxSteps.
func (p *Path) Find(d *Document) (found []json.RawMessage, err error) {
	if d.root == nil {
		return nil, nil
	}
	w := walk{root: d.root, left: MaxSteps}
	if !p.query.each(&w, d.root, func(v *value) bool {
		found = append(found, json.RawMessage(v.raw))
		return true
	}) || w.over() {
		return nil, ErrTooManySteps
	}
	return found, nil
}
