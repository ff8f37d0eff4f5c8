package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
)

// tool is one row of the table of tools.
type tool struct {
	set                      Toolset
	name, title, description string
	hint                     effect
	// refine adds constraints and descriptions to the schema of the arguments.
	refine   func(*arguments)
	register func(*Server, *tool)
}

// effect is what a tool does outside of its result. Clients decide by these hints whether to ask
// their user for permission.
type effect struct{ readOnly, destructive, idempotent, openWorld bool }

var (
	readEffect  = effect{readOnly: true, idempotent: true}
	writeEffect = effect{}
	endEffect   = effect{destructive: true, idempotent: true}
	startEffect = effect{openWorld: true}
)

func (t *tool) reads() bool { return t.hint.readOnly }

// call is one call of a tool.
type call struct {
	server *Server
	client parley.Client
	tool   *tool
	req    *protocol.CallToolRequest
}

// toolResult is the result of a tool. Its fields are the structured content.
type toolResult interface{ text() string }

// registration returns the function that adds a tool with the handler f to a server.
func registration[In any, Out toolResult](f func(ctx context.Context, c *call, in *In) (Out, error)) func(*Server,
	*tool) {
	return func(s *Server, t *tool) {
		in := argumentsOf[In](t.refine)
		s.arguments[t.name] = in
		spec := &protocol.Tool{
			Name: t.name, Title: t.title, Description: t.description,
			Annotations: &protocol.ToolAnnotations{
				Title: t.title, ReadOnlyHint: t.hint.readOnly, DestructiveHint: &t.hint.destructive,
				IdempotentHint: t.hint.idempotent, OpenWorldHint: &t.hint.openWorld,
			},
			InputSchema: schemaText(in), OutputSchema: schemaText(schemaOf[Out]()),
		}
		handle := func(ctx context.Context, req *protocol.CallToolRequest, in In) (*protocol.CallToolResult, Out, error) {
			out, err := answer(ctx, &call{server: s, tool: t, req: req}, &in, f)
			if err != nil {
				var none Out
				if !errors.As(err, new(*failure)) { // an error without advice
					err = explain(err, hints{})
				}
				return nil, none, err
			}
			r := &protocol.CallToolResult{Content: []protocol.Content{&protocol.TextContent{Text: out.text()}}}
			if f, ok := any(out).(interface{ failed() bool }); ok {
				r.IsError = f.failed() // the call succeeded, but its subject failed
			}
			return r, out, nil
		}
		protocol.AddTool(s.Server, spec, handle)
	}
}

// schemaText encodes a schema once. Otherwise the library encodes the schema of the arguments at
// every call over HTTP, to look for headers in it.
func schemaText(s *jsonschema.Schema) json.RawMessage { return json.RawMessage(jsonText(s)) }

// schemaOf returns the schema of a type. It panics if the type has none, which is a mistake in the
// table of tools.
func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(fmt.Sprintf("mcp: %v", err))
	}
	simplify(s)
	return s
}

// simplify removes null from the types of lists and pointers: tools never return it, and strict
// clients refuse a list of types. They also refuse a property without a type, so simplify lists all
// types for those. It adds the description of a property whose tag has none.
func simplify(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	for name, p := range s.Properties {
		simplify(p)
		if p.Description == "" {
			p.Description = descriptions[name]
		}
		if p.Type == "" {
			p.AnyOf = anyType()
		}
	}
	simplify(s.Items)
	simplify(s.AdditionalProperties)
}

// anyType returns one schema for each type of JSON.
func anyType() (all []*jsonschema.Schema) {
	for _, name := range []string{"object", "array", "string", "number", "boolean", "null"} {
		all = append(all, &jsonschema.Schema{Type: name})
	}
	return all
}

// arguments wraps the schema of the arguments of a tool.
type arguments struct{ schema *jsonschema.Schema }

// argumentsOf returns the schema of the arguments of a tool. An argument of any type is declared as
// an object, because some models accept neither a choice of types nor an array of anything.
func argumentsOf[In any](refine func(*arguments)) *jsonschema.Schema {
	a := &arguments{schemaOf[In]()}
	for _, p := range a.schema.Properties {
		if p.Type == "" {
			p.Type, p.AnyOf = "object", nil
		}
	}
	if refine != nil {
		refine(a)
	}
	return a.schema
}

// argument returns the schema of one argument.
func (a *arguments) argument(name string) *jsonschema.Schema {
	p := a.schema.Properties[name]
	if p == nil {
		panic("mcp: there is no argument " + name)
	}
	return p
}

// describe sets the description of an argument that is too long for a struct tag.
func (a *arguments) describe(name, text string) { a.argument(name).Description = text }

// oneOf sets the values of an argument. The first one is the default.
func (a *arguments) oneOf(name string, values ...string) {
	p := a.argument(name)
	for _, v := range values {
		p.Enum = append(p.Enum, v)
	}
	p.Default = fmt.Appendf(nil, "%q", values[0])
}

// numberRange sets the bounds and the default of a number.
func (a *arguments) numberRange(name string, least, most, standard float64) {
	p := a.argument(name)
	p.Minimum, p.Maximum = &least, &most
	p.Default = fmt.Appendf(nil, "%v", standard)
}

// nonNegative sets the minimum of a number to 0.
func (a *arguments) nonNegative(name string) {
	least := 0.0
	a.argument(name).Minimum = &least
}

// textLength sets the length of texts in characters.
func (a *arguments) textLength(least, most int, names ...string) {
	for _, name := range names {
		p := a.argument(name)
		if p.MaxLength = &most; least > 0 {
			p.MinLength = &least
		}
	}
}
