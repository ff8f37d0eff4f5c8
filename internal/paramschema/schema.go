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

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	raw      json.RawMessage
	root     *node
	library  *jsonschema.Schema
	warnings []Warning
}

// Compile compiles a JSON Schema of at most MaxBytes, of Draft 7 or the draft in $schema. Errors
// are *parley.Error: ErrTooLarge for too many bytes, otherwise ErrValidationFailed. The message
// begins with the place in the schema, such as properties.url.minLength, and has the expected value.
//
// Members of the schema that are null count as absent, except default and const. Patterns that
// cannot be used, and defaults that do not match their own schema, have no effect; see Warnings.
func Compile(raw json.RawMessage) (s *Schema, err error) {
	defer recoverPanic(&err)
	root, f := parse(raw, parseLimits{MaxBytes, MaxSchemaDepth, MaxBytes})
	if f != nil {
		return nil, f.ofSchema()
	}
	compact := root.appendTo(nil)
	g, err := build(root)
	if err != nil {
		return nil, err
	}
	s = &Schema{raw: compact}
	if len(g.skipped) > 0 {
		for i := range g.skipped {
			s.warnings = append(s.warnings, g.skipped[i].warning())
		}
		g.removeSkipped()
		if g, err = build(root); err != nil {
			return nil, err
		}
	}
	for _, check := range []func() error{g.checkRecursion, g.checkCost, g.compile, g.checkDefaults} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	for _, n := range g.nodes {
		n.acceptsNull() // later calls are concurrent
	}
	s.root, s.library = g.nodes[0], g.nodes[0].library
	s.warnings = append(s.warnings, g.warnings...)
	return s, nil
}

// ofSchema returns the error for an invalid schema text.
func (f *fault) ofSchema() error {
	if len(f.path) == 0 && errors.Is(f.sentinel, parley.ErrTooLarge) {
		return parley.Refuse(f.sentinel, "the schema: "+f.message, f.expected)
	}
	return refuse(tokensOf(f.path), f.message, f.expected)
}

// ofValue returns the error for an invalid value text.
func (f *fault) ofValue() error {
	return parley.Refuse(f.sentinel, valuePath(f.path)+": "+f.message, f.expected)
}

// recoverPanic turns a panic into an error. No schema or value is known that causes one.
func recoverPanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: the schema library panicked: %s", parley.ErrInternal, clip(fmt.Sprint(p)))
	}
}

// promptSchema is the schema of agents without one, from the seed.
const promptSchema = `{"type":"object","required":["prompt"],"properties":{"prompt":{"type":"string","minLength":1}},` +
	`"additionalProperties":false}`

var prompt = sync.OnceValue(func() *Schema {
	s, err := Compile(json.RawMessage(promptSchema))
	if err != nil {
		panic("paramschema: " + err.Error()) // it is a constant
	}
	return s
})

// Prompt returns the schema of agents without one: an object with a non-empty prompt and no other
// members.
func Prompt() *Schema { return prompt() }

// Raw returns the compact schema. The caller must not change it.
func (s *Schema) Raw() json.RawMessage { return s.raw }

// Properties returns the names under properties at the root and at the root of the target of a
// $ref, in order.
func (s *Schema) Properties() []string {
	declared := map[string]edge{}
	for n := s.root; n != nil; n = n.ref {
		if !n.refOnly {
			maps.Copy(declared, n.properties)
		}
	}
	return slices.Sorted(maps.Keys(declared))
}
