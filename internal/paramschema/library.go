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

// base is the address of every schema. To an address of this form the library adds a reference as it is written.
const base = "urn:parley:schema"

// errOutside is why nothing is loaded. No schema that comes so far asks for it.
var errOutside = errors.New("schemas refer to nothing outside")

// compile has the library compile the schema. It takes out of it what the library must not see.
func (g *graph) compile() (*jsonschema.Schema, error) {
	g.strip()
	c := jsonschema.NewCompiler()
	c.Draft = g.draft.library
	c.AssertFormat, c.AssertContent = true, true
	c.Formats = formats
	c.MediaTypes = map[string]func([]byte) error{"application/json": isJSON}
	c.LoadURL = func(string) (io.ReadCloser, error) { return nil, errOutside }
	if err := c.AddResource(base, bytes.NewReader(g.root.appendTo(nil))); err != nil {
		return nil, refuse(nil, "it cannot be read", "a JSON Schema")
	}
	compiled, err := c.Compile(base)
	if err != nil {
		return nil, g.refused(err)
	}
	return compiled, nil
}

func isJSON(b []byte) error {
	if !json.Valid(b) {
		return errors.New("it is not JSON")
	}
	return nil
}

// refused says why the library, or the schema of schemas that it has built in, refuses a schema.
func (g *graph) refused(err error) error {
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

// leaves gives the causes of an error that have no cause themselves. Where one of several schemas would have had to fit, those of the one that fits best.
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

// closest gives the leaves of the cause that comes closest: one that is about a part of the value, or else one for this type of value, or else the first.
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

// locate finds a value by the pointer that the library gives, and the steps to it.
func (v *value) locate(pointer string) (*value, []step) {
	var path []step
	if pointer == "" {
		return v, nil
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		s := step{unescape(token), -1}
		next := v.step(s.name)
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
