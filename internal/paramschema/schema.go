package paramschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Schema is a schema that has been compiled. It may be used by many at once.
type Schema struct {
	raw     json.RawMessage
	root    *node
	library *jsonschema.Schema
}

// Compile reads a JSON Schema of at most MaxBytes: of Draft 7, or of the draft that $schema names. An error is a *parley.Error with ErrValidationFailed, and
// ErrTooLarge where there are too many bytes; its message begins with the place in the schema, as properties.url.pattern, and it says what was expected.
func Compile(raw json.RawMessage) (s *Schema, err error) {
	defer caught(&err)
	root, f := parse(raw, parseLimits{MaxBytes, MaxSchemaDepth, MaxBytes})
	if f != nil {
		return nil, f.ofSchema()
	}
	compact := root.appendTo(nil)
	g, err := build(root)
	if err != nil {
		return nil, err
	}
	for _, check := range []func() error{g.recursion, g.bounded, g.endless} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	library, err := g.compile()
	if err != nil {
		return nil, err
	}
	return &Schema{raw: compact, root: g.nodes[0], library: library}, nil
}

// ofSchema is the refusal of a schema that could not be read.
func (f *fault) ofSchema() error {
	if len(f.path) == 0 && errors.Is(f.sentinel, parley.ErrTooLarge) {
		return parley.Refuse(f.sentinel, "the schema: "+f.message, f.expected)
	}
	return refuse(tokensOf(f.path), f.message, f.expected)
}

// ofValue is the refusal of a value that could not be read.
func (f *fault) ofValue() error {
	return parley.Refuse(f.sentinel, valuePath(f.path)+": "+f.message, f.expected)
}

// caught makes an error of a panic. None is known that a schema or a value can cause.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: the schema library panicked: %s", parley.ErrInternal, clip(fmt.Sprint(p)))
	}
}

// promptSchema is that of agents that give none: the seed's, as its authors have narrowed it.
const promptSchema = `{"type":"object","required":["prompt"],"properties":{"prompt":{"type":"string","minLength":1}},"additionalProperties":false}`

var prompt = sync.OnceValue(func() *Schema {
	s, err := Compile(json.RawMessage(promptSchema))
	if err != nil {
		panic("paramschema: " + err.Error()) // it is part of the program
	}
	return s
})

// Prompt gives the schema of agents that give none: an object with a prompt, text that is not empty, and nothing else.
func Prompt() *Schema { return prompt() }

// Raw gives the schema, compact, as it was given. It must not be changed.
func (s *Schema) Raw() json.RawMessage { return s.raw }

// Properties gives the names that stand under properties at the top, and at the top of what a $ref there refers to; in order.
func (s *Schema) Properties() []string {
	declared := map[string]edge{}
	for n := s.root; n != nil; n = n.ref {
		if !n.alone {
			maps.Copy(declared, n.properties)
		}
	}
	return slices.Sorted(maps.Keys(declared))
}
