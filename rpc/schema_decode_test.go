package rpc_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc"
)

// TestSchemasRefuseWhatTheDecoderRefuses generates good and bad params of every method, and
// compares the strict decoder with the schema without its bounds: both refuse the same. The schema
// with its bounds may refuse more, never less.
func TestSchemasRefuseWhatTheDecoderRefuses(t *testing.T) {
	for _, m := range rpc.ServedMethods() {
		t.Run(m.Name, func(t *testing.T) {
			form := published{t: t, change: func(document any) any { return formOnly(document, m.Params) }}
			whole := published{t: t}
			rapid.Check(t, func(t *rapid.T) {
				params, err := json.Marshal(drawParams(t, m.Params))
				if err != nil {
					t.Fatal(err)
				}
				refused := wire.Decode(params, reflect.New(m.Params).Interface())
				if refused != nil && !errors.Is(refused, parley.ErrInvalidParams) &&
					!errors.Is(refused, parley.ErrValidationFailed) {
					t.Fatalf("%s: %v", params, refused)
				}
				if err := form.check(m.Name+".params", params); (err == nil) != (refused == nil) {
					t.Fatalf("the decoder says %v, the schema %v: %s", refused, err, params)
				}
				if refused != nil && whole.check(m.Name+".params", params) == nil {
					t.Fatalf("the decoder says %v, and the whole schema takes it: %s", refused, params)
				}
			})
		})
	}
}

// formOnly reduces a schema to the rules of the decoder: names, JSON types, required members, zero
// for missing ones, the range of integers, base64.
func formOnly(document any, params reflect.Type) any {
	definitions := definitionsOf(document)
	for _, definition := range definitions {
		dropBounds(definition)
		required, _ := definition["required"].([]any)
		properties, _ := definition["properties"].(map[string]any)
		for name, p := range properties {
			if property, ok := p.(map[string]any); ok {
				properties[name] = formOf(property, slices.Contains(required, any(name)))
			}
		}
	}
	for _, definition := range definitions {
		properties, _ := definition["properties"].(map[string]any)
		// any JSON for the decoder
		for _, name := range []string{"payload", "metadata", "parameters", "parameters_schema", "output_schema", "details",
			"answerSchema", "answer", "agent_config"} {
			if p, ok := properties[name].(map[string]any); ok && p["$ref"] != "#/$defs/Note" {
				properties[name] = true
			}
		}
	}
	return document
}

func formOf(p map[string]any, required bool) map[string]any {
	zeroCounts := false
	if least, ok := p["minimum"].(json.Number); ok {
		n, _ := least.Int64() // an integer
		zeroCounts = n <= 0
	}
	dropBounds(p)
	for _, keyword := range []string{"items", "additionalProperties"} {
		if inner, ok := p[keyword].(map[string]any); ok {
			dropBounds(inner)
		}
	}
	switch {
	case p["type"] == "integer":
		p["minimum"], p["maximum"] = -wire.MaxInteger, wire.MaxInteger
		if !required && !zeroCounts {
			p["not"] = map[string]any{"const": 0}
		}
	case p["type"] == "string" && !required && p["contentEncoding"] == nil:
		p["minLength"] = 1
	}
	return p
}

func dropBounds(p map[string]any) {
	for _, keyword := range []string{"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
		"maxProperties", "propertyNames", "enum", "not", "if", "then", "allOf", "anyOf", "oneOf"} {
		delete(p, keyword)
	}
	if p["contentEncoding"] == nil {
		delete(p, "pattern")
	}
}

// drawParams draws a value for a params type, mostly a good one.
func drawParams(t *rapid.T, params reflect.Type) any {
	if rapid.IntRange(0, 39).Draw(t, "not an object") == 0 {
		return drawAny(t)
	}
	object := map[string]any{}
	for f := range params.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		there := rapid.IntRange(0, 19).Draw(t, name+" is there")
		if options != "" && there >= 10 || there == 0 {
			continue
		}
		if there == 1 {
			name = strings.ToUpper(name)
		}
		object[name] = drawField(t, f.Type)
	}
	if rapid.IntRange(0, 19).Draw(t, "a stranger") == 0 {
		object[rapid.SampledFrom([]string{"x", "from", "claimId", "id "}).Draw(t, "name")] = drawAny(t)
	}
	return object
}

func drawField(t *rapid.T, field reflect.Type) any {
	if rapid.IntRange(0, 14).Draw(t, "another type") == 0 {
		return drawAny(t)
	}
	switch {
	case field == reflect.TypeFor[json.RawMessage]():
		return drawAny(t)
	case field == reflect.TypeFor[[]byte]():
		return rapid.SampledFrom([]string{"", "AA==", "AAA=", "AAAA", "QUJD", "A", "AB==", "AAB=", "AA", "AA=", "A A=",
			"AAAA\n", "AA-_", "=", "AAAAA==="}).Draw(t, "base64")
	}
	switch field.Kind() {
	case reflect.Pointer:
		return drawField(t, field.Elem())
	case reflect.Struct:
		return drawParams(t, field)
	case reflect.Slice:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, drawField(t, field.Elem()))
		}
		return list
	case reflect.Map:
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			object[rapid.SampledFrom([]string{"", "a", "id", "line\nbreak"}).Draw(t, "member")] = drawField(t, field.Elem())
		}
		return object
	case reflect.Bool:
		return rapid.Bool().Draw(t, "bool")
	case reflect.Int, reflect.Int64:
		return rapid.SampledFrom([]int64{0, 1, -1, 7, 1000, wire.MaxInteger, wire.MaxInteger + 1, -wire.MaxInteger,
			-wire.MaxInteger - 1, 1 << 62}).Draw(t, "integer")
	}
	return rapid.SampledFrom([]string{"", "a", "hub", "turn", "read", "line\nbreak", strings.Repeat("é", 200)}).Draw(t,
		"text")
}

// drawAny draws any JSON. It draws no 1.0, which is an integer for a schema and none for this
// protocol.
func drawAny(t *rapid.T) any {
	return rapid.SampledFrom([]any{
		nil, true, false, 0, 3, -3, 1.5, "", "text", []any{}, []any{1, "a", nil}, map[string]any{},
		map[string]any{"id": "a", "kind": "agent"},
		map[string]any{"kind": "open"}, map[string]any{"schema": "s", "data": 1}, []any{map[string]any{"id": "a"}},
	}).Draw(t, "any")
}
