package paramschema_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/paramschema"
)

func fill(t testing.TB, s *paramschema.Schema, value string) string {
	t.Helper()
	filled, err := s.Fill(json.RawMessage(value))
	if err != nil {
		t.Fatalf("fill %.200s: %v", value, err)
	}
	return string(filled)
}

func TestFill(t *testing.T) {
	const draft2020 = `"$schema":"https://json-schema.org/draft/2020-12/schema",`
	for _, c := range []struct{ name, schema, value, want string }{
		{"the seed", crawler, `{"url":"https://example.com"}`, `{"url":"https://example.com","depth":2}`},
		{"what is there stays", crawler, ` { "depth" : null, "url":"\u0061" } `, `{"depth":null,"url":"\u0061"}`},
		{"names in order, numbers as written",
			`{"properties":{"z":{"default":1.50},"b":{"default":1e2},"é":{"default":"\u00e9"},"a":{"default":null},"n":{}}}`,
			`{"y":1.0,"x":1E+2}`, `{"y":1.0,"x":1E+2,"a":null,"b":1e2,"z":1.50,"é":"\u00e9"}`},
		{"of two defaults, the first", `{"properties":{"a":{"default":1}},"allOf":[{"properties":{"a":{"default":2},` +
			`"b":{"default":3}}}]}`, `{}`, `{"a":1,"b":3}`},
		{"inside what is there", `{"properties":{"o":{"properties":{"a":{"default":1}}}}}`, `{"o":{}}`, `{"o":{"a":1}}`},
		{"not inside what is not there", `{"properties":{"o":{"properties":{"a":{"default":1}}}}}`, `{}`, `{}`},
		{"inside a default", `{"properties":{"o":{"default":{"b":2},"properties":{"a":{"default":1}}}}}`, `{}`,
			`{"o":{"b":2,"a":1}}`},
		{"items", `{"properties":{"l":{"items":{"properties":{"a":{"default":1}}}}}}`, `{"l":[{},3,{"a":2}]}`,
			`{"l":[{"a":1},3,{"a":2}]}`},
		{"items of a default", `{"properties":{"l":{"default":[{}],"items":{"properties":{"a":{"default":1}}}}}}`, `{}`,
			`{"l":[{"a":1}]}`},
		{"a list of items", `{"items":[{"properties":{"a":{"default":1}}},{"properties":{"b":{"default":1}}}],` +
			`"additionalItems":{"properties":{"c":{"default":1}}}}`,
			`[{},{},{}]`, `[{"a":1},{"b":1},{"c":1}]`},
		{"prefixItems", `{` + draft2020 + `"prefixItems":[{"properties":{"a":{"default":1}}}],` +
			`"items":{"properties":{"b":{"default":1}}}}`, `[{},{}]`, `[{"a":1},{"b":1}]`},
		{"additionalProperties", `{"properties":{"x":{}},"additionalProperties":{"properties":{"a":{"default":1}}}}`,
			`{"x":{},"y":{}}`, `{"x":{},"y":{"a":1}}`},
		{"patternProperties", `{"patternProperties":{"^x":{"properties":{"a":{"default":1}}}}}`, `{"x":{},"y":{}}`,
			`{"x":{"a":1},"y":{}}`},
		{"a reference", `{"properties":{"o":{"$ref":"#/definitions/o"}},` +
			`"definitions":{"o":{"properties":{"a":{"default":1}}}}}`, `{"o":{}}`, `{"o":{"a":1}}`},
		{"the default of a reference", `{"properties":{"o":{"$ref":"#/definitions/o"}},"definitions":{"o":{"default":{},` +
			`"properties":{"a":{"default":1}}}}}`, `{}`, `{"o":{"a":1}}`},
		{"a default beside a reference", `{"properties":{"o":{"$ref":"#/definitions/o","default":2}},` +
			`"definitions":{"o":{"default":1}}}`, `{}`, `{"o":2}`},
		{"nothing else beside a reference", `{"$ref":"#/definitions/o","properties":{"b":{"default":2}},` +
			`"definitions":{"o":{"properties":{"a":{"default":1}}}}}`, `{}`, `{"a":1}`},
		{"beside a reference since 2019", `{` + draft2020 + `"$ref":"#/$defs/o","properties":{"b":{"default":2}},` +
			`"$defs":{"o":{"properties":{"a":{"default":1}}}}}`, `{}`, `{"a":1,"b":2}`},
		{"allOf describes what another one adds", `{"allOf":[{"properties":{"o":{"properties":{"a":{"default":1}}}}},` +
			`{"properties":{"o":{"default":{}}}}]}`, `{}`, `{"o":{"a":1}}`},
		{"recursion", `{"properties":{"a":{"default":1},"o":{"$ref":"#"}}}`, `{"o":{"o":{}}}`,
			`{"o":{"o":{"a":1},"a":1},"a":1}`},
		{"nothing where it may not hold", `{"anyOf":[{"properties":{"a":{"default":1}}}],
			"oneOf":[{"properties":{"b":{"default":1}}}],"not":{"required":["x"],"properties":{"c":{"default":1}}},
			"if":{"properties":{"d":{"default":1}}},"then":{"properties":{"e":{"default":1}}},
			"else":{"properties":{"f":{"default":1}}},
			"dependencies":{"z":{"properties":{"g":{"default":1}}}}}`, `{"z":1}`, `{"z":1}`},
		{"no object", crawler, `[1.0]`, `[1.0]`},
		{"an odd name", `{"properties":{"a\"\u003c<":{"default":1}}}`, `{}`, `{"a\"<<":1}`},
		{"a default twice", `{"properties":{"a":{"$ref":"#/definitions/d"},"b":{"$ref":"#/definitions/d"}},` +
			`"definitions":{"d":{"default":{"x":{}},"properties":{"x":{"properties":{"y":{"default":1}}}}}}}`,
			`{"b":{}}`, `{"b":{},"a":{"x":{"y":1}}}`},
		{"a default for two", `{"properties":{"a":{"allOf":[{"$ref":"#/definitions/d"}],"properties":{"x":{"default":1}}},` +
			`"b":{"$ref":"#/definitions/d"}},"definitions":{"d":{"default":{}}}}`,
			`{}`, `{"a":{"x":1},"b":{}}`},
	} {
		s := compile(t, c.schema)
		if got := fill(t, s, c.value); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
		// Fill does not change the schema.
		if got := fill(t, s, c.value); got != c.want {
			t.Errorf("%s, the second time:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// Defaults that make a small value very large are refused.
func TestFillEnds(t *testing.T) {
	for name, c := range map[string][2]string{
		"a large default in each item": {`{"items":{"properties":{"a":{"default":"` + strings.Repeat("x", 60_000) + `"}}}}`,
			`[` + same(100_000, `{}`) + `]`},
		"many defaults in each item": {`{"items":{"properties":{` + numbered(1900, `"p%d":{"default":1}`) + `}}}`,
			`[` + same(100_000, `{}`) + `]`},
		"turns that each supply the other": {`{"allOf":[{"$ref":"#/definitions/a"},{"$ref":"#/definitions/d"}],"definitions":{
			"a":{"properties":{"x":{"$ref":"#/definitions/b"}}},"b":{"properties":{"x":{"$ref":"#/definitions/a","default":{}}}},
			"c":{"properties":{"x":{"$ref":"#/definitions/d"}}},
			"d":{"properties":{"x":{"$ref":"#/definitions/c","default":{}}}}}}`, `{}`},
		"patterns": {`{"patternProperties":{"(a|b|c)*z(a|b){60}$":{}}}`, `{` + numbered(60_000, `"`+strings.Repeat("abc",
			20)+`%d":1`) + `}`},
	} {
		s := compile(t, c[0])
		within(t, name, func() {
			if _, err := s.Fill(json.RawMessage(c[1])); !errors.Is(err, parley.ErrTooLarge) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}
