package generate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/parleyhub/parley"
)

// definitions has the schemas of all types. The schema of client input is strict: it refuses
// unknown members and values, as the hub does. The schema of hub output is open, so that readers
// accept unknown members and values. A type with both directions has two schemas; the strict one
// has the suffix Input.
type definitions struct {
	source  *source
	methods []Method
	both    map[reflect.Type]bool
	// schemas has the schema of each type name.
	schemas jsonschema.Definitions
}

var (
	rawType       = reflect.TypeFor[json.RawMessage]()
	bytesType     = reflect.TypeFor[[]byte]()
	timestampType = reflect.TypeFor[parley.Timestamp]()
)

// sent lists the types that the hub sends, except results.
func sent() []reflect.Type {
	types := []reflect.Type{
		reflect.TypeFor[parley.WireError](), reflect.TypeFor[parley.Event](),
		reflect.TypeFor[parley.TailResult](), reflect.TypeFor[parley.WaitForChangeResult](),
		reflect.TypeFor[parley.Message](), reflect.TypeFor[parley.Trace](), reflect.TypeFor[parley.System](),
		reflect.TypeFor[parley.Callbacks](),
	}
	for _, n := range notifications {
		types = append(types, reflect.TypeOf(n.params))
	}
	return types
}

func define(s *source, methods []Method) *definitions {
	d := &definitions{source: s, methods: methods, both: map[reflect.Type]bool{}, schemas: jsonschema.Definitions{}}
	in, out := map[reflect.Type]bool{}, map[reflect.Type]bool{}
	for _, m := range methods {
		reach(m.Params, in)
		reach(m.Result, out)
	}
	for _, t := range sent() {
		reach(t, out)
	}
	for t := range in {
		d.both[t] = out[t]
	}
	d.add(in, true)
	d.add(out, false)
	d.addPayloads()
	d.addEvents()
	d.addErrors()
	d.addFrames()
	d.addStreams()
	d.addWait()
	d.addLines()
	for name, schema := range d.schemas {
		schema.Title = name
	}
	return d
}

// reach collects a struct and all structs that it contains.
func reach(t reflect.Type, structs map[reflect.Type]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		reach(t.Elem(), structs)
	case reflect.Struct:
		if structs[t] {
			return
		}
		structs[t] = true
		for f := range t.Fields() {
			if f.IsExported() {
				reach(f.Type, structs)
			}
		}
	}
}

// add creates the schemas of structs.
func (d *definitions) add(structs map[reflect.Type]bool, strict bool) {
	r := &jsonschema.Reflector{
		Anonymous: true, AllowAdditionalProperties: !strict, LookupComment: d.source.describe,
		Namer:  func(t reflect.Type) string { return d.name(t, strict) },
		Mapper: func(t reflect.Type) *jsonschema.Schema { return d.scalar(t, strict) },
	}
	for t := range structs {
		name := d.name(t, strict)
		d.schemas[name] = r.ReflectFromType(t).Definitions[name]
		if strict {
			d.bind(t, d.schemas[name])
		}
	}
}

// name returns the name of the schema of a type.
func (d *definitions) name(t reflect.Type, strict bool) string {
	if strict && d.both[t] {
		return t.Name() + "Input"
	}
	return t.Name()
}

// scalar returns the schema of a type that differs from the schema of its Go kind. It returns nil
// for all other types.
func (d *definitions) scalar(t reflect.Type, strict bool) *jsonschema.Schema {
	switch {
	case t == rawType:
		return &jsonschema.Schema{}
	case t == bytesType && strict:
		return &jsonschema.Schema{Type: "string", ContentEncoding: "base64", Pattern: base64Pattern}
	case t == bytesType:
		return &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
	case t == timestampType:
		return &jsonschema.Schema{Type: "string", Format: "date-time", Pattern: timestampPattern}
	case t.Kind() == reflect.String && len(d.known(t)) > 0 && strict:
		return &jsonschema.Schema{Type: "string", Enum: d.known(t)}
	case t.Kind() == reflect.String && len(d.known(t)) > 0:
		return known(d.known(t)...)
	}
	return nil
}

const (
	base64Pattern    = `^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$`
	timestampPattern = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$`
)

// known returns the values that this version has for a string type.
func (d *definitions) known(t reflect.Type) []any {
	var values []any
	for _, v := range d.source.known[t.Name()] {
		if t == reflect.TypeFor[parley.Scope]() && !slices.Contains(parley.Scopes, parley.Scope(v)) {
			continue // not a scope of a token
		}
		values = append(values, v)
	}
	return values
}

// known is a string with values of this version. Readers accept other values.
func known(values ...any) *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Enum: values}, {Type: "string"}}}
}

func ref(name string) *jsonschema.Schema { return &jsonschema.Schema{Ref: definitionPrefix + name} }

const definitionPrefix = "#/$defs/"

// property returns a property of a schema. It panics if the property is missing, because the tables
// of this package name existing ones.
func (d *definitions) property(name, property string) *jsonschema.Schema {
	s, ok := d.schemas[name]
	if !ok {
		panic("generate: there is no schema " + name)
	}
	p, ok := s.Properties.Get(property)
	if !ok {
		panic(fmt.Sprintf("generate: %s has no property %s", name, property))
	}
	return p
}

// bind sets the bounds of the fields of a strict struct.
func (d *definitions) bind(t reflect.Type, s *jsonschema.Schema) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		p, ok := s.Properties.Get(name)
		if !ok {
			continue
		}
		bindKind(f.Type, p, options != "")
		if b, ok := bounds[t.Name()+"."+f.Name]; ok {
			b(p)
		}
	}
}

// bindKind sets the bounds that the decoder has for the type of a field. An optional field is
// omitted rather than zero.
func bindKind(t reflect.Type, p *jsonschema.Schema, optional bool) {
	switch t.Kind() {
	case reflect.Pointer:
		bindKind(t.Elem(), p, false)
	case reflect.Int, reflect.Int64:
		least := int64(-maxInteger)
		if optional {
			least = 1
		}
		between(least, maxInteger)(p)
	case reflect.String:
		if optional && len(p.Enum) == 0 {
			p.MinLength = size(1)
		}
	}
}

func size(n int) *uint64 {
	u := uint64(n)
	return &u
}
