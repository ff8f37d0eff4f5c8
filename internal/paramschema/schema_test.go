package paramschema_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/paramschema"
)

func TestSeed(t *testing.T) {
	s := compile(t, crawler)
	got, err := s.Validate(json.RawMessage(`{"url": "not-a-url", "depth": "deep"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []parley.ValidationError{
		{Path: "$.url", Message: "'not-a-url' is not a valid uri", SchemaPath: "properties.url.format"},
		{Path: "$.depth", Message: "'deep' is not of type 'integer'", SchemaPath: "properties.depth.type"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := validate(t, s, `{"url":"https://example.com","depth":3}`); got != nil {
		t.Errorf("valid parameters: %q", got)
	}
	if got := validate(t, s, `{"depth":3}`); !slices.Equal(got, []string{"$ | 'url' is a required property | required"}) {
		t.Errorf("without url: %q", got)
	}
}

func TestPrompt(t *testing.T) {
	s := paramschema.Prompt()
	for value, want := range map[string][]string{
		`{"prompt":"go on"}`:     {},
		`{}`:                     {"$ | 'prompt' is a required property | required"},
		`{"prompt":""}`:          {"$.prompt | '' has 0 characters: at least 1 | properties.prompt.minLength"},
		`{"prompt":"a","x":[1]}`: {"$.x | 'x' is not declared: additional properties are not allowed | additionalProperties"},
		`"go on"`:                {"$ | 'go on' is not of type 'object' | type"},
	} {
		if got := validate(t, s, value); !slices.Equal(got, want) {
			t.Errorf("%s: %q", value, got)
		}
	}
	if !slices.Equal(s.Properties(), []string{"prompt"}) {
		t.Errorf("properties: %q", s.Properties())
	}
}

func TestRaw(t *testing.T) {
	s := compile(t, " {\n \"$schema\" : \"http://json-schema.org/draft-07/schema#\", "+
		"\"$id\":\"https://example.com/x\",\n \"properties\": "+
		"{\"z\":{\"$ref\":\"#/%64efinitions/a\"},\"a\":{\"maximum\":1.50}}, \"definitions\":{\"a\":{}}}")
	want := `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"https://example.com/x",` +
		`"properties":{"z":{"$ref":"#/%64efinitions/a"},"a":{"maximum":1.50}},"definitions":{"a":{}}}`
	if got := string(s.Raw()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestProperties(t *testing.T) {
	for schema, want := range map[string]string{
		crawler: "depth url",
		`true`:  "",
		`{"$ref":"#/definitions/a","properties":{"no":{}},"definitions":{"a":{"$ref":"#/definitions/b"},` +
			`"b":{"properties":{"b":{},"a":{}}}}}`: "a b",
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","$ref":"#/$defs/a","properties":{"z":{}},` +
			`"$defs":{"a":{"properties":{"a":{}}}}}`: "a z",
		`{"allOf":[{"properties":{"a":{}}}],"properties":{"b":{},"b ` +
			`c":{}}}`: "b b c",
	} {
		if got := strings.Join(compile(t, schema).Properties(), " "); got != want {
			t.Errorf("%s: %q", schema, got)
		}
	}
}

// TestDrafts checks each draft by a difference from another one.
func TestDrafts(t *testing.T) {
	for _, c := range []struct{ draft, schema, good, bad string }{
		{"http://json-schema.org/draft-04/schema#", `"maximum":3,"exclusiveMaximum":true`, `2`, `3`},
		{"http://json-schema.org/draft-04/schema", `"const":1,"id":"http://example.com/x","type":"integer"`, `2`, `"x"`},
		{"http://json-schema.org/draft-06/schema#", `"exclusiveMaximum":3,"if":{},"then":false`, `2`, `3`},
		{"http://json-schema.org/draft-07/schema#",
			`"if":{"type":"integer"},"then":{"maximum":3},"dependentRequired":{"a":["b"]}`, `{"a":1}`, `4`},
		{"https://json-schema.org/draft/2019-09/schema", `"dependentRequired":{"a":["b"]},"items":[{"type":"string"}],` +
			`"prefixItems":[false]`, `["a"]`, `{"a":1}`},
		{"https://json-schema.org/draft/2019-09/schema#", `"$ref":"#/$defs/a","maxLength":2,"$defs":{"a":{"type":"string"}}`,
			`"ab"`, `"abc"`},
		{"https://json-schema.org/draft/2020-12/schema", `"prefixItems":[{"type":"string"}],"unevaluatedItems":false`,
			`["a"]`, `["a",1]`},
		// Keywords that do not exist, but that the library reads.
		{"", `"regexProperties":3,"$vocabulary":3,"$dynamicAnchor":3,"$recursiveAnchor":"x","$anchor":[],"type":"null"`,
			`null`, `3`},
		{"http://json-schema.org/draft-04/schema#", `"format":"uri","contentEncoding":3,"contentMediaType":{},"if":3,` +
			`"$id":3,"contains":3,"propertyNames":[]`, `"a:b"`, `"b"`},
		{"", `"$ref":"#/$defs/a","maxLength":2,"$defs":{"a":{"type":"string"}}`, `"abc"`, `3`},
	} {
		head := `{`
		if c.draft != "" {
			head = `{"$schema":"` + c.draft + `",`
		}
		s := compile(t, head+c.schema+`}`)
		if got := validate(t, s, c.good); got != nil {
			t.Errorf("%s %s: %s: %q", c.draft, c.schema, c.good, got)
		}
		if got := validate(t, s, c.bad); got == nil {
			t.Errorf("%s %s: %s is taken", c.draft, c.schema, c.bad)
		}
	}
}

func TestFormatsAreAsserted(t *testing.T) {
	for format, v := range map[string][2]string{
		"uri": {`"https://example.com/a"`, `"a b"`}, "email": {`"a@example.com"`, `"a"`}, "date": {`"2026-02-28"`,
			`"2026-02-30"`},
		"date-time": {`"2026-02-28T00:00:00Z"`, `"yesterday"`}, "uuid": {`"123e4567-e89b-12d3-a456-426614174000"`, `"123"`},
		"ipv4": {`"127.0.0.1"`, `"127.1"`},
		"ipv6": {`"::1"`, `"1"`}, "hostname": {`"example.com"`, `"-"`}, "regex": {`"^a+$"`, `"("`},
		"duration":     {`"P1D"`, `"1D"`},
		"json-pointer": {`"/a"`, `"a"`}, "time": {`"12:00:00Z"`, `"12"`}, "unheard-of": {`"x"`, ""},
	} {
		for _, draft := range []string{"http://json-schema.org/draft-07/schema#",
			"https://json-schema.org/draft/2020-12/schema"} {
			s := compile(t, `{"$schema":"`+draft+`","format":"`+format+`"}`)
			if got := validate(t, s, v[0]); got != nil {
				t.Errorf("%s %s: %q", format, v[0], got)
			}
			if v[1] != "" && validate(t, s, v[1]) == nil {
				t.Errorf("%s: %s is taken", format, v[1])
			}
			if got := validate(t, s, `3`); got != nil {
				t.Errorf("%s of a number: %q", format, got)
			}
		}
	}
}

// TestReferences follows references in all valid spellings.
func TestReferences(t *testing.T) {
	for _, c := range []struct{ ref, schema string }{
		{"#/definitions/a", `"definitions":{"a":{"type":"null"}}`},
		{"#/$defs/a", `"$defs":{"a":{"type":"null"}}`},
		{"#/components/schemas/a", `"components":{"schemas":{"a":{"type":"null"}}}`},
		{"#/definitions/a~1b~0c%25", `"definitions":{"a/b~c%":{"type":"null"}}`},
		{"#/definitions/a%2Fb", `"definitions":{"a":{"b":{"type":"null"}}}`},
		{"#/definitions/a%20b", `"definitions":{"a b":{"type":"null"}}`},
		{"#/definitions/a b", `"definitions":{"a b":{"type":"null"}}`},
		{"#/definitions/é\\\"?#", `"definitions":{"é\"?#":{"type":"null"}}`},
		{"#/definitions/", `"definitions":{"":{"type":"null"}}`},
		{"#/allOf/0", `"allOf":[{"type":"null"}]`},
		{"#/%61llOf/%30", `"allOf":[{"type":"null"}]`},
		{"#/x/1", `"x":[3,{"type":"null"}]`},
	} {
		s := compile(t, `{"items":{"$ref":"`+c.ref+`"},`+c.schema+`}`)
		if got := validate(t, s, `[1]`); len(got) != 1 || !strings.HasPrefix(got[0], "$[0] | 1 is not of type 'null' | ") {
			if c.ref != "#/allOf/0" && c.ref != "#/%61llOf/%30" || len(got) != 2 {
				t.Errorf("%s: %q", c.ref, got)
			}
		}
	}
}

func TestRecursion(t *testing.T) {
	s := compile(t, `{"type":"object","required":["name"],"properties":{"name":{"type":"string"},`+
		`"children":{"type":"array","items":{"$ref":"#"}}},"additionalProperties":{"$ref":"#"}}`)
	if got := validate(t, s, `{"name":"a","children":[{"name":"b","other":{"name":"c"}}]}`); got != nil {
		t.Errorf("%q", got)
	}
	want := []string{
		"$.children[0].other | 'name' is a required property | required",
		"$.children[1].name | 1 is not of type 'string' | properties.name.type",
	}
	if got := validate(t, s, `{"name":"a","children":[{"name":"b","other":{}},{"name":1}]}`); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestInvalidValues(t *testing.T) {
	s := compile(t, `{"properties":{"a":{"type":"integer"}}}`)
	for value, want := range map[string]string{
		``:                         "invalid_params: $: it is not JSON (expected one JSON value in UTF-8)",
		`{"a":1`:                   "invalid_params: $: it is not JSON (expected one JSON value in UTF-8)",
		`{} {}`:                    "invalid_params: $: it is not JSON (expected one JSON value in UTF-8)",
		"\"\xff\"":                 "invalid_params: $: it is not JSON (expected one JSON value in UTF-8)",
		`{"b":{"a":1,"\u0061":2}}`: "invalid_params: $.b: it has 'a' twice (expected each name once)",
		`{"a":1e1000000000}`: "too_large: $.a: 1e1000000000 has an exponent too large (expected at most " +
			"400 to either side)",
		`{"b":[1e-99999999999999999999]}`: "too_large: $.b[0]: 1e-99999999999999999999 has an exponent too large " +
			"(expected at most 400 to either side)",
		`[` + strings.Repeat("9", 129) + `]`: "too_large: $[0]: " + strings.Repeat("9", 80) +
			"… is a number too long (expected at most 128 bytes)",
		strings.Repeat("[", 65) + strings.Repeat("]", 65): "too_large: $" + strings.Repeat("[0]", 64) +
			": it nests too deep (expected at most 64 levels)",
		`[` + same(paramschema.MaxNodes, "0") + `]`: "too_large: $[262143]: there are too many values " +
			"(expected at most 262144)",
		`"` + strings.Repeat("x", paramschema.MaxValueBytes-1) + `"`: "too_large: $: it has 16777217 bytes (expected at " +
			"most 16777216)",
	} {
		if _, err := s.Validate(json.RawMessage(value)); err == nil || err.Error() != want {
			t.Errorf("validate %.80s: %v", value, err)
		}
		if _, err := s.Fill(json.RawMessage(value)); err == nil || err.Error() != want {
			t.Errorf("fill %.80s: %v", value, err)
		}
	}
	if _, err := s.Validate(json.RawMessage(strings.Repeat("[", 64) + strings.Repeat("]", 64))); err != nil {
		t.Errorf("64 levels: %v", err)
	}
}

// TestConcurrentUse uses one schema concurrently, for the race detector.
func TestConcurrentUse(t *testing.T) {
	s := compile(t, `{"items":{"$ref":"#/definitions/a"},"definitions":{"a":{"anyOf":[{"type":"string","pattern":"^a"},`+
		`{"properties":{"b":{"default":1}}}]}}}`)
	done := make(chan error)
	for range 8 {
		go func() {
			for range 50 {
				wrong, err := s.Validate(json.RawMessage(`["b",{},3]`))
				if err == nil && len(wrong) != 0 {
					err = errors.New(wrong[0].Message)
				}
				if _, e := s.Fill(json.RawMessage(`["b",{},3]`)); err == nil {
					err = e
				}
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
