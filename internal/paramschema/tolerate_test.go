package paramschema_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/parleyhub/parley/internal/paramschema"
)

// zodEmail is the pattern that Zod 4 writes for e-mail addresses.
const zodEmail = `^(?!\\.)(?!.*\\.\\.)` +
	`([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$`

// warnings returns one line per warning.
func warnings(s *paramschema.Schema) (lines []string) {
	for _, w := range s.Warnings() {
		lines = append(lines, w.Path+": "+w.Message)
	}
	return lines
}

// A part of a schema that has no effect is reported. The rest of the schema is checked.
func TestSchemaPartsWithoutEffect(t *testing.T) {
	const email = `{"type":"string","pattern":"` + zodEmail + `"}`
	for _, c := range []struct{ name, schema, warning, good, bad string }{
		{"look-ahead of Zod", `{"properties":{"email":` + email + `,"n":{"type":"integer"}}}`,
			"properties.email.pattern: the pattern '^(?!", `{"email":"a..b","n":1}`, `{"n":"many"}`},
		{"look-behind", `{"items":{"pattern":"(?<=a)b","maxLength":2}}`, "items.pattern: ", `["bb"]`, `["bbb"]`},
		{"a back-reference", `{"type":"string","pattern":"(a)\\1"}`, "pattern: ", `"b"`, `1`},
		{"an open bracket", `{"type":"string","pattern":"(a"}`,
			"pattern: the pattern '(a' is not checked: RE2 refuses it: missing closing )", `"b"`, `1`},
		{"below a reference", `{"$ref":"#/x","x":{"items":{"type":"string","pattern":"("}}}`, "x.items.pattern: ", `["b"]`,
			`[1]`},
		{"a large repetition", `{"type":"string","pattern":"(a{1,30}){1,30}"}`, "more than 256 instructions", `"b"`, `1`},
		{"a huge repetition", `{"type":"string","pattern":"(a{1,500}){1,500}"}`, "invalid repeat count", `"b"`, `1`},
		{"an empty repetition", `{"type":"string","pattern":"((()|a{0,16}){16}){2}"}`, "instructions", `"b"`, `1`},
		{"many classes", `{"type":"string","pattern":"` + strings.Repeat(`[\\pL]`, 9) + `"}`, "instructions", `"b"`, `1`},
		{"a wide range in both cases", `{"type":"string","pattern":"(?i)[A-\\x{1e900}]"}`, "instructions", `"1"`, `1`},
		{"a long pattern", `{"type":"string","pattern":"` + strings.Repeat("a", paramschema.MaxPatternBytes+1) + `"}`,
			"pattern: ", `"b"`, `1`},
		{"many patterns", `{"properties":{` + numbered(30, `"p%02d":{"pattern":"a{200}"}`) + `}}`,
			"properties.p20.pattern: ", `{"p20":"b"}`, `{"p00":"b"}`},
		{"a name, with other names closed", `{"patternProperties":{"^(?=a)":{"type":"null"},"^b":{"type":"null"}},` +
			`"additionalProperties":false}`, `patternProperties["^(?=a)"]: `, `{"a":1,"c":1}`, `{"b":1}`},
		{"a long name", `{"patternProperties":{"` + strings.Repeat("a", 257) + `":{}},"maxProperties":1}`,
			"patternProperties.aaa", `{"a":1}`, `{"a":1,"b":1}`},
		{"not", `{"type":"string","not":{"pattern":"(?!a)"}}`, "not.pattern: ", `"b"`, `1`},
		{"not, below a reference", `{"type":"string","not":{"allOf":[{"$ref":"#/definitions/a"}]},"definitions":{"a":` +
			email + `}}`, "definitions.a.pattern: ", `"b"`, `1`},
		{"oneOf", `{"oneOf":[{"type":"string","pattern":"(?!a)"},{"type":"string","pattern":"(?!b)"}]}`,
			"oneOf.0.pattern: ", `"x"`, `1`},
		{"if", `{"type":"string","if":{"pattern":"(?!a)"},"then":{"maxLength":1}}`, "if.pattern: ", `"long"`, `1`},
		{"contains", `{"$schema":"https://json-schema.org/draft/2020-12/schema","contains":{"pattern":"(?!a)"},` +
			`"maxContains":1,"maxItems":3}`, "contains.pattern: ", `["a","b"]`, `[1,2,3,4]`},
		{"unevaluatedProperties", `{"$schema":"https://json-schema.org/draft/2020-12/schema","allOf":[{"patternProperties":` +
			`{"(?!a)":{}}}],"unevaluatedProperties":false,"maxProperties":1}`, "patternProperties", `{"b":1}`,
			`{"a":1,"b":1}`},
		{"a default", `{"properties":{"n":{"type":"integer","default":"x"}}}`,
			"properties.n.default: the default is not filled in, because it does not match: 'x' is not of type 'integer'",
			`{}`, `{"n":"x"}`},
		{"a default of an item", `{"items":{"properties":{"n":{"enum":["a"],"default":"b"}}}}`,
			"items.properties.n.default: ", `[{}]`, `[{"n":"b"}]`},
		{"a default of a reference", `{"properties":{"n":{"allOf":[{"$ref":"#/definitions/d"}],"maximum":3}},` +
			`"definitions":{"d":{"default":5}}}`, "properties.n: the default of its reference is not filled in", `{}`,
			`{"n":5}`},
	} {
		s := compile(t, c.schema)
		if lines := warnings(s); !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, c.warning) }) {
			t.Errorf("%s: warnings %q, want %q", c.name, lines, c.warning)
		}
		if wrong := validate(t, s, c.good); len(wrong) > 0 {
			t.Errorf("%s: %s is refused: %q", c.name, c.good, wrong)
		}
		if wrong := validate(t, s, c.bad); len(wrong) == 0 {
			t.Errorf("%s: %s is accepted", c.name, c.bad)
		}
		if filled := fill(t, s, c.good); filled != c.good {
			t.Errorf("%s: %s became %s", c.name, c.good, filled)
		}
		if !json.Valid(s.Raw()) || len(s.Raw()) < len(c.schema) {
			t.Errorf("%s: the schema lost its text: %s", c.name, s.Raw())
		}
	}
}

// Null counts as absent in a schema, except in default and const.
func TestNullInSchema(t *testing.T) {
	const head = `{"type":"object",`
	for _, c := range []struct{ schema, good, bad string }{
		{head + `"properties":{"n":{"type":"integer"}},"required":null}`, `{}`, `{"n":"one"}`},
		{head + `"properties":null,"additionalProperties":null,"allOf":null}`, `{"n":1}`, `1`},
		{head + `"properties":{"n":null,"m":{"type":null,"maximum":3}},"additionalProperties":false}`, `{"n":1,"m":2}`,
			`{"m":4}`},
		{head + `"required":["a",null],"properties":{"a":{"items":null,"type":"array"}}}`, `{"a":[1]}`, `{"a":1}`},
		{head + `"properties":{"a":{"type":["string",null]}}}`, `{"a":null}`, `{"a":1}`},
		{head + `"properties":{"a":{"anyOf":[null,{"type":"string"}]}},"anyOf":[null]}`, `{"a":"x"}`, `{"a":1}`},
		{head + `"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"enum":null,"type":"string"},"b":null}}`,
			`{"a":"x"}`, `{"a":1}`},
		{head + `"properties":{"a":{"enum":["x",null]},"b":{"const":null}}}`, `{"a":null,"b":null}`, `{"b":1}`},
		{head + `"properties":{"a":{"items":[null,{"type":"string"}]}}}`, `{"a":[1,"x"]}`, `{"a":[1,2]}`},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","dependentRequired":{"a":null,"b":["c"]}}`, `{"a":1}`,
			`{"b":1}`},
	} {
		s := compile(t, c.schema)
		if wrong := validate(t, s, c.good); len(wrong) > 0 {
			t.Errorf("%s: %s is refused: %q", c.schema, c.good, wrong)
		}
		if wrong := validate(t, s, c.bad); len(wrong) == 0 {
			t.Errorf("%s: %s is accepted", c.schema, c.bad)
		}
		if lines := warnings(s); len(lines) > 0 {
			t.Errorf("%s: %q", c.schema, lines)
		}
	}
}

// A default is filled in only if it matches its schema, with the defaults inside it.
func TestFillSkipsWrongDefaults(t *testing.T) {
	for _, c := range []struct{ schema, value, want string }{
		{`{"properties":{"team_ids":{"type":"array","default":null},"limit":{"type":"integer","default":20}}}`, `{}`,
			`{"limit":20}`},
		{`{"properties":{"a":{"type":["string","null"],"default":null}}}`, `{}`, `{"a":null}`},
		{`{"properties":{"o":{"properties":{"l":{"items":{"properties":{"a":{"type":"string","default":null},` +
			`"b":{"default":1}}}}}}}}`, `{"o":{"l":[{}]}}`, `{"o":{"l":[{"b":1}]}}`},
		{`{"properties":{"o":{"type":"object","required":["a"],"properties":{"a":{"type":"integer","default":1}},` +
			`"default":{}}}}`, `{}`, `{"o":{"a":1}}`},
		{`{"properties":{"o":{"type":"object","required":["a"],"properties":{"a":{"type":"integer","default":"1"}},` +
			`"default":{}}}}`, `{}`, `{}`},
		{`{"properties":{"a":{"$ref":"#/definitions/d","default":null}},"definitions":{"d":{"type":"integer",` +
			`"default":1}}}`, `{}`, `{}`},
		{`{"properties":{"a":{"$ref":"#/definitions/d"}},"definitions":{"d":{"type":"integer","default":"x"}}}`, `{}`,
			`{}`},
		{`{"properties":{"a":{"pattern":"^b","default":"a"},"c":{"format":"date","default":"today"}}}`, `{}`, `{}`},
	} {
		if got := fill(t, compile(t, c.schema), c.value); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.schema, got, c.want)
		}
	}
	for _, schema := range []string{
		`{"properties":{"a":{"type":"array","default":null}}}`, `{"type":"object","default":null}`,
	} {
		if lines := warnings(compile(t, schema)); len(lines) > 0 {
			t.Errorf("%s: %q", schema, lines)
		}
	}
}

// Null for a member that is neither required nor accepts null is removed. Every other null stays.
func TestDropNulls(t *testing.T) {
	const item = `{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"n":{"type":"integer"}}}`
	for _, c := range []struct{ name, schema, value, want string }{
		{"optional", item, `{"id":"x","n":null}`, `{"id":"x"}`},
		{"required", item, `{"id":null}`, `{"id":null}`},
		{"undeclared", item, `{"id":"x","z":null}`, `{"id":"x","z":null}`},
		{"undeclared and closed", `{"properties":{"a":{}},"additionalProperties":false}`, `{"a":null,"z":null}`,
			`{"a":null}`},
		{"accepted by type", `{"properties":{"a":{"type":["string","null"]}}}`, `{"a":null}`, `{"a":null}`},
		{"accepted by anyOf", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":null}`,
			`{"a":null}`},
		{"accepted by enum", `{"properties":{"a":{"enum":["x",null]},"b":{"enum":["x"]}}}`, `{"a":null,"b":null}`,
			`{"a":null}`},
		{"refused by const and not", `{"properties":{"a":{"const":1},"b":{"not":{"type":"null"}},"c":false}}`,
			`{"a":null,"b":null,"c":null}`, `{}`},
		{"if, then and else", `{"properties":{"a":{"if":{"type":"string"},"else":{"type":"integer"}},` +
			`"b":{"if":{"type":"null"},"then":{}}}}`, `{"a":null,"b":null}`, `{"b":null}`},
		{"anyOf of a property refuses", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`,
			`{"a":null}`, `{}`},
		{"a nested object", `{"properties":{"o":` + item + `}}`, `{"o":{"id":"x","n":null}}`, `{"o":{"id":"x"}}`},
		{"items", `{"properties":{"l":{"type":"array","items":` + item + `}}}`, `{"l":[{"id":"x","n":null},null]}`,
			`{"l":[{"id":"x"},null]}`},
		{"a list of items", `{"items":[{},` + item + `],"additionalItems":` + item + `}`,
			`[{"n":null},{"n":null},{"n":null}]`, `[{"n":null},{},{}]`},
		{"a reference", `{"properties":{"o":{"$ref":"#/$defs/o"}},"$defs":{"o":` + item + `}}`, `{"o":{"n":null}}`,
			`{"o":{}}`},
		{"recursion", `{"properties":{"n":{"type":"integer"},"o":{"$ref":"#"}}}`, `{"o":{"o":{"n":null}}}`,
			`{"o":{"o":{}}}`},
		{"allOf", `{"allOf":[{"properties":{"a":{"type":"string"},"b":{}}},{"required":["b"],` +
			`"properties":{"b":{"type":"string"}}}]}`, `{"a":null,"b":null}`, `{"b":null}`},
		{"anyOf of an object", `{"anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},` +
			`{"properties":{"b":{"type":"string"}},"required":["b"]}]}`, `{"a":null,"b":"x"}`, `{"b":"x"}`},
		{"oneOf, in which one accepts", `{"oneOf":[{"properties":{"a":{"type":"string"}}},` +
			`{"properties":{"a":{"type":["null","integer"]}}}]}`, `{"a":null}`, `{"a":null}`},
		{"items below anyOf", `{"properties":{"l":{"anyOf":[{"type":"null"},{"items":` + item + `}]}}}`,
			`{"l":[{"id":"x","n":null}]}`, `{"l":[{"id":"x"}]}`},
		{"patternProperties", `{"patternProperties":{"^x":{"type":"string"}}}`, `{"x1":null,"y":null}`, `{"y":null}`},
		{"additionalProperties", `{"additionalProperties":` + item + `}`, `{"a":{"n":null},"b":null}`, `{"a":{}}`},
		{"dependencies", `{"dependencies":{"a":{"properties":{"b":{"type":"string"}}}}}`, `{"a":1,"b":null}`, `{"a":1}`},
		{"a null in the schema", `{"properties":{"a":{"type":"string"}},"required":null}`, `{"a":null}`, `{}`},
		{"no object", item, `[null]`, `[null]`},
		{"no JSON", item, `{"n":null`, `{"n":null`},
		{"unchanged text", item, ` {"id" : "x"} `, ` {"id" : "x"} `},
	} {
		if got := string(compile(t, c.schema).DropNulls(json.RawMessage(c.value))); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// DropNulls keeps a value that has nothing to remove, and its result has nothing to remove. A null
// that one schema accepts as its whole value is never refused by a schema under the same name.
func TestDropNullsIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		schema := drawSchema(3).Draw(t, "schema")
		value := drawValue(3).Draw(t, "value")
		s, err := paramschema.Compile(json.RawMessage(schema))
		if err != nil {
			t.Fatalf("compile %s: %v", schema, err)
		}
		once := s.DropNulls(json.RawMessage(value))
		if twice := s.DropNulls(once); string(twice) != string(once) {
			t.Fatalf("%s with %s\nonce  %s\ntwice %s", value, schema, once, twice)
		}
		if !holds(decode(t, string(once)), decode(t, value)) {
			t.Fatalf("%s with %s has something new: %s", value, schema, once)
		}
		filled, err := s.Fill(once)
		if err != nil || !holds(decode(t, string(once)), decode(t, string(filled))) {
			t.Fatalf("%s with %s became %s (%v)", once, schema, filled, err)
		}
	})
}

// The outcome of null for a schema is that of the library.
func TestAcceptsNullMatchesValidate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keyword := rapid.SampledFrom([]string{
			`"type":"null"`, `"type":"string"`, `"type":["null","integer"]`, `"enum":[null]`, `"enum":[1]`, `"const":null`,
			`"const":2`, `"maximum":3`, `"required":["a"]`,
		})
		var schema func(depth int) *rapid.Generator[string]
		schema = func(depth int) *rapid.Generator[string] {
			return rapid.Custom(func(t *rapid.T) string {
				forms := []string{"plain", "true", "false", "anyOf", "oneOf", "allOf", "not", "if"}
				name := rapid.SampledFrom(forms).Draw(t, "form")
				if depth == 0 {
					name = "plain"
				}
				below := func() string { return schema(depth-1).Draw(t, "below") }
				switch name {
				case "plain":
					return `{` + keyword.Draw(t, "keyword") + `}`
				case "true", "false":
					return name
				case "not":
					return `{"not":` + below() + `}`
				case "if":
					return `{"if":` + below() + `,"then":` + below() + `,"else":` + below() + `}`
				}
				return `{"` + name + `":[` + below() + `,` + below() + `],` + keyword.Draw(t, "beside") + `}`
			})
		}
		one := schema(3).Draw(t, "schema")
		whole, err := paramschema.Compile(json.RawMessage(one))
		if err != nil {
			t.Fatalf("%s: %v", one, err)
		}
		wrong, err := whole.Validate(json.RawMessage("null"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := paramschema.Compile(json.RawMessage(`{"properties":{"a":` + one + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		if kept := string(s.DropNulls(json.RawMessage(`{"a":null}`))) != `{}`; kept != (len(wrong) == 0) {
			t.Fatalf("%s: kept %v, but the errors are %v", one, kept, wrong)
		}
	})
}
