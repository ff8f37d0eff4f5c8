package paramschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// base is the id of every schema. The library appends references to an id of this form unchanged.
const base = "urn:parley:schema"

// errOutside refuses to load a schema. No schema that passes the checks needs it.
var errOutside = errors.New("schemas refer to nothing outside")

// compile compiles the schema with the library, without the keywords that the library must not see.
func (g *graph) compile() error {
	g.removeHidden()
	c := jsonschema.NewCompiler()
	c.Draft = g.draft.library
	c.AssertFormat, c.AssertContent = true, true
	c.Formats = formats
	c.MediaTypes = map[string]func([]byte) error{"application/json": isJSON}
	c.LoadURL = func(string) (io.ReadCloser, error) { return nil, errOutside }
	if err := c.AddResource(base, bytes.NewReader(g.root.appendTo(nil))); err != nil {
		return refuse(nil, "it cannot be read", "a JSON Schema")
	}
	compiled, err := c.Compile(base)
	if err != nil {
		return g.explainRefusal(err)
	}
	g.compiler, g.nodes[0].library = c, compiled
	return nil
}

// schemaOf returns a schema of the graph as a separate one.
func (g *graph) schemaOf(n *node) (*Schema, error) {
	if n.library == nil {
		compiled, err := g.compiler.Compile(base + pointer(n.path))
		if err != nil {
			return nil, g.explainRefusal(err)
		}
		n.library = compiled
	}
	return &Schema{root: n, library: n.library}, nil
}

func isJSON(b []byte) error {
	if !json.Valid(b) {
		return errors.New("it is not JSON")
	}
	return nil
}

// explainRefusal converts an error of the library or of its metaschema.
func (g *graph) explainRefusal(err error) error {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return refuse(nil, clip(err.Error()), "a JSON Schema of "+g.draft.library.String())
	}
	var first *jsonschema.ValidationError
	var where []step
	least := 0
	for _, leaf := range leaves(invalid, nil) {
		v, path := g.root.locate(leaf.InstanceLocation)
		if first == nil || v.at < least {
			first, where, least = leaf, path, v.at
		}
	}
	return refuse(tokensOf(where), clip(first.Message), "a JSON Schema of "+g.draft.library.String())
}

// leaves returns the innermost causes of an error. For a choice of schemas, it returns those of the
// one that fits best.
func leaves(e *jsonschema.ValidationError, all []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch {
	case len(e.Causes) == 0:
		return append(all, e)
	case strings.HasSuffix(e.KeywordLocation, "/anyOf"), strings.HasSuffix(e.KeywordLocation, "/oneOf"):
		return append(all, closest(e)...)
	}
	for _, c := range e.Causes {
		all = leaves(c, all)
	}
	return all
}

// closest returns the leaves of the closest cause: one about a part of the value, otherwise one for
// the type of the value, otherwise the first.
func closest(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	var best []*jsonschema.ValidationError
	rank := 0
	for _, c := range e.Causes {
		all := leaves(c, nil)
		r := 1
		switch {
		case all[0].InstanceLocation != e.InstanceLocation:
			r = 3
		case !strings.HasSuffix(all[0].KeywordLocation, "/type"):
			r = 2
		}
		if r > rank {
			best, rank = all, r
		}
	}
	return best
}

// locate finds a value by a pointer of the library, with the steps to it.
func (v *value) locate(pointer string) (*value, []step) {
	var path []step
	if pointer == "" {
		return v, nil
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		s := step{unescape(token), -1}
		next := v.child(s.name)
		if next == nil {
			break
		}
		if v.kind == array {
			s.index, _ = strconv.Atoi(s.name)
		}
		path = append(path, s)
		v = next
	}
	return v, path
}
