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
	set                Toolset
	name, title, about string
	hint               effect
	// refine adds to the schema of the arguments what Go's types do not say.
	refine func(*arguments)
	add    func(*Server, *tool)
}

// effect is what a tool does to the world, as clients are told, which ask their user for leave accordingly.
type effect struct{ readOnly, destructive, idempotent, openWorld bool }

var (
	reads   = effect{readOnly: true, idempotent: true}
	adds    = effect{}
	ends    = effect{destructive: true, idempotent: true}
	startsX = effect{openWorld: true}
)

func (t *tool) reads() bool { return t.hint.readOnly }

// call is one call of a tool.
type call struct {
	server *Server
	client parley.Client
	tool   *tool
	req    *protocol.CallToolRequest
}

// said is what a tool answers: its fields are the structured content.
type said interface{ text() string }

// typed makes the tool of a function.
func typed[In any, Out said](f func(ctx context.Context, c *call, in *In) (Out, error)) func(*Server, *tool) {
	return func(s *Server, t *tool) {
		in := argumentsOf[In](t.refine)
		s.arguments[t.name] = in
		spec := &protocol.Tool{
			Name: t.name, Title: t.title, Description: t.about,
			Annotations: &protocol.ToolAnnotations{
				Title: t.title, ReadOnlyHint: t.hint.readOnly, DestructiveHint: &t.hint.destructive, IdempotentHint: t.hint.idempotent, OpenWorldHint: &t.hint.openWorld,
			},
			InputSchema: textOf(in), OutputSchema: textOf(schemaOf[Out]()),
		}
		protocol.AddTool(s.Server, spec, func(ctx context.Context, req *protocol.CallToolRequest, in In) (*protocol.CallToolResult, Out, error) {
			out, err := answer(ctx, &call{server: s, tool: t, req: req}, &in, f)
			if err != nil {
				var none Out
				if !errors.As(err, new(*failure)) { // what is none is the library's, of arguments
					err = explained(err, hints{})
				}
				return nil, none, err
			}
			r := &protocol.CallToolResult{Content: []protocol.Content{&protocol.TextContent{Text: out.text()}}}
			if f, ok := any(out).(interface{ failed() bool }); ok {
				r.IsError = f.failed() // what was asked for was done, and has failed
			}
			return r, out, nil
		})
	}
}

// textOf gives a schema as text: the library writes that of a tool's arguments out at each call over HTTP, to look for headers that it may name.
func textOf(s *jsonschema.Schema) json.RawMessage { return json.RawMessage(encoded(s)) }

// schemaOf gives the schema of a type. It panics where there is none: then the table of tools is wrong.
func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(fmt.Sprintf("mcp: %v", err))
	}
	plain(s)
	return s
}

// plain takes the null out of lists and pointers: there is none in what the tools give, and strict clients refuse types that are lists. They refuse what has no type
// too, so that what may be anything lists all types.
func plain(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	for _, p := range s.Properties {
		plain(p)
		if p.Type == "" {
			p.AnyOf = anything()
		}
	}
	plain(s.Items)
	plain(s.AdditionalProperties)
}

// anything is one schema for each type of JSON.
func anything() (all []*jsonschema.Schema) {
	for _, name := range []string{"object", "array", "string", "number", "boolean", "null"} {
		all = append(all, &jsonschema.Schema{Type: name})
	}
	return all
}

// arguments are the schema of a tool's arguments.
type arguments struct{ schema *jsonschema.Schema }

// argumentsOf gives the schema of a tool's arguments. One that may be anything is an object: models are given these schemas, and some take no choice of types and
// no array of anything.
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

// of gives the schema of an argument.
func (a *arguments) of(name string) *jsonschema.Schema {
	p := a.schema.Properties[name]
	if p == nil {
		panic("mcp: there is no argument " + name)
	}
	return p
}

// oneOf lists the values of an argument; the first is the default.
func (a *arguments) oneOf(name string, values ...string) {
	p := a.of(name)
	for _, v := range values {
		p.Enum = append(p.Enum, v)
	}
	p.Default = fmt.Appendf(nil, "%q", values[0])
}

// bounded bounds a number, which has a default.
func (a *arguments) bounded(name string, least, most, standard float64) {
	p := a.of(name)
	p.Minimum, p.Maximum = &least, &most
	p.Default = fmt.Appendf(nil, "%v", standard)
}

// since says what a cursor is.
func (a *arguments) since(name string) {
	least := 0.0
	a.of(name).Minimum = &least
}

// length bounds a text.
func (a *arguments) length(least, most int, names ...string) {
	for _, name := range names {
		p := a.of(name)
		if p.MaxLength = &most; least > 0 {
			p.MinLength = &least
		}
	}
}
