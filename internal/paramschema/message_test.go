package paramschema_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/paramschema"
)

// TestMessages checks the message of each keyword.
func TestMessages(t *testing.T) {
	const (
		draft4    = `"$schema":"http://json-schema.org/draft-04/schema#",`
		draft2019 = `"$schema":"https://json-schema.org/draft/2019-09/schema",`
		draft2020 = `"$schema":"https://json-schema.org/draft/2020-12/schema",`
	)
	for _, c := range []struct {
		schema, value string
		want          []string
	}{
		{`{"type":"integer"}`, `1.5`, []string{"$ | 1.5 is not of type 'integer' | type"}},
		{`{"type":["integer","null"]}`, `{"a":["it's",true,null]}`,
			[]string{`$ | {'a': ['it\'s', true, null]} is not of type 'integer' or 'null' | type`}},
		{`{"enum":["a","b",3,null]}`, `"z"`, []string{"$ | 'z' is not one of ['a', 'b', 3, null] | enum"}},
		{`{"const":"a"}`, `"z"`, []string{"$ | 'z' is not 'a', which is the only value allowed | const"}},
		{`{"minimum":3}`, `1`, []string{"$ | 1 is less than the minimum of 3 | minimum"}},
		{`{"maximum":3}`, `5`, []string{"$ | 5 is greater than the maximum of 3 | maximum"}},
		{`{"exclusiveMinimum":3}`, `3`, []string{"$ | 3 is not greater than 3 | exclusiveMinimum"}},
		{`{"exclusiveMaximum":3}`, `3`, []string{"$ | 3 is not less than 3 | exclusiveMaximum"}},
		{`{` + draft4 + `"maximum":3,"exclusiveMaximum":true}`, `3`, []string{"$ | 3 is not less than 3 | exclusiveMaximum"}},
		{`{` + draft4 + `"minimum":3,"exclusiveMinimum":true}`, `3`,
			[]string{"$ | 3 is not greater than 3 | exclusiveMinimum"}},
		{`{"multipleOf":0.1}`, `0.25`, []string{"$ | 0.25 is not a multiple of 0.1 | multipleOf"}},
		{`{"minLength":2}`, `"é"`, []string{"$ | 'é' has 1 character: at least 2 | minLength"}},
		{`{"maxLength":2}`, `"abc"`, []string{"$ | 'abc' has 3 characters: at most 2 | maxLength"}},
		{`{"pattern":"^a"}`, `"b\n\u0000"`, []string{`$ | 'b\n\x00' does not match the pattern '^a' | pattern`}},
		{`{"format":"date"}`, `"x"`, []string{"$ | 'x' is not a valid date | format"}},
		{`{"contentEncoding":"base64"}`, `"!"`, []string{"$ | '!' is not encoded in 'base64' | contentEncoding"}},
		{`{"contentMediaType":"application/json"}`, `"{"`,
			[]string{"$ | '{' is not of the media type 'application/json' | contentMediaType"}},
		{`{` + draft2020 + `"contentMediaType":"application/json","contentSchema":{"type":"null"}}`, `"3"`, nil},
		{`{` + draft2020 + `"contentEncoding":"base64"}`, `"!"`,
			[]string{"$ | '!' is not encoded in 'base64' | contentEncoding"}},
		{`{"minItems":1}`, `[]`, []string{"$ | [] has 0 items: at least 1 | minItems"}},
		{`{"maxItems":1}`, `[1,2]`, []string{"$ | [1, 2] has 2 items: at most 1 | maxItems"}},
		{`{"uniqueItems":true}`, `[1,2,1.0]`, []string{"$ | [1, 2, 1.0] has the same item twice, at 0 and 2 | uniqueItems"}},
		{`{"items":[{}],"additionalItems":false}`, `[1,2]`, []string{"$ | [1, 2] has 2 items: at most 1 | additionalItems"}},
		{`{"items":[{}],"additionalItems":{"type":"null"}}`, `[1,2]`,
			[]string{"$[1] | 2 is not of type 'null' | additionalItems.type"}},
		{`{"contains":{"type":"null"}}`, `[1]`,
			[]string{"$ | [1] has too few items that fit the schema under contains: at least 1 | contains"}},
		{`{` + draft2019 + `"contains":{"type":"null"},"minContains":2}`, `[null]`,
			[]string{"$ | [null] has too few items that fit the schema under contains: at least 2 | minContains"}},
		{`{` + draft2019 + `"contains":{"type":"null"},"maxContains":1}`, `[null,null]`,
			[]string{"$ | [null, null] has too many items that fit the schema under contains: at most 1 | maxContains"}},
		{`{"minProperties":1}`, `{}`, []string{"$ | {} has 0 members: at least 1 | minProperties"}},
		{`{"maxProperties":0}`, `{"a":1}`, []string{"$ | {'a': 1} has 1 member: at most 0 | maxProperties"}},
		{`{"required":["b","a"]}`, `{}`, []string{"$ | 'b' is a required property | required",
			"$ | 'a' is a required property | required"}},
		{`{"additionalProperties":false,"properties":{"a":{}},"patternProperties":{"^x-":{}}}`,
			`{"z":1,"a":1,"x-a":1,"b c":1}`, []string{
				"$.z | 'z' is not declared: additional properties are not allowed | additionalProperties",
				`$["b c"] | 'b c' is not declared: additional properties are not allowed | additionalProperties`,
			}},
		{`{` + draft2020 + `"unevaluatedProperties":false,"allOf":[{"properties":{"a":{}}}]}`, `{"a":1,"b":1}`,
			[]string{"$.b | 'b' is not allowed here | unevaluatedProperties"}},
		{`{"properties":{"required":false}}`, `{"required":1}`,
			[]string{"$.required | 'required' is not allowed here | properties.required"}},
		{`{"propertyNames":{"maxLength":1}}`, `{"a":1,"bc":1}`,
			[]string{"$.bc | the name 'bc' has 2 characters: at most 1 | propertyNames.maxLength"}},
		{`{"properties":{"propertyNames":{"type":"string"}}}`, `{"propertyNames":1}`,
			[]string{"$.propertyNames | 1 is not of type 'string' | properties.propertyNames.type"}},
		{`{"dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"a":1,"c":1}`, []string{
			"$ | 'b' is a required property where 'a' is given | dependencies.a",
			"$ | 'd' is a required property | dependencies.c.required",
		}},
		{`{` + draft2019 + `"dependentRequired":{"a/b":["c"]}}`, `{"a/b":1}`,
			[]string{`$ | 'c' is a required property where 'a/b' is given | dependentRequired["a/b"]`}},
		{`{"not":{"type":"null"}}`, `null`, []string{"$ | null fits the schema under not, and must not | not"}},
		{`{"if":{"type":"string"},"then":{"minLength":1},"else":{"minimum":1}}`, `0`,
			[]string{"$ | 0 is less than the minimum of 1 | else.minimum"}},
		{`{"allOf":[{"minimum":1},{"multipleOf":2}]}`, `-1`,
			[]string{"$ | -1 is less than the minimum of 1 | allOf.0.minimum",
				"$ | -1 is not a multiple of 2 | allOf.1.multipleOf"}},
		{`{"anyOf":[{"type":"string"},{"type":"object","required":["a"]}]}`, `{}`, []string{
			"$ | {} does not fit any of the schemas under anyOf | anyOf",
			"$ | 'a' is a required property | anyOf.1.required",
		}},
		{`{"anyOf":[{"required":["a","b"]},{"required":["c"]}]}`, `{}`, []string{
			"$ | {} does not fit any of the schemas under anyOf | anyOf",
			"$ | 'c' is a required property | anyOf.1.required",
		}},
		{`{"properties":{"anyOf":{"anyOf":[{"minimum":1,"multipleOf":2}]}}}`, `{"anyOf":-1}`, []string{
			"$.anyOf | -1 does not fit any of the schemas under anyOf | properties.anyOf.anyOf",
			"$.anyOf | -1 is less than the minimum of 1 | properties.anyOf.anyOf.0.minimum",
			"$.anyOf | -1 is not a multiple of 2 | properties.anyOf.anyOf.0.multipleOf",
		}},
		{`{"properties":{"anyOf":{"minimum":1,"multipleOf":2}}}`, `{"anyOf":-1}`, []string{
			"$.anyOf | -1 is less than the minimum of 1 | properties.anyOf.minimum",
			"$.anyOf | -1 is not a multiple of 2 | properties.anyOf.multipleOf",
		}},
		{`{"oneOf":[{"type":"string"},{"type":"null"}]}`, `1`, []string{
			"$ | 1 does not fit any of the schemas under oneOf | oneOf",
			"$ | 1 is not of type 'string' | oneOf.0.type",
		}},
		{`{"oneOf":[{"type":"string"},{"minLength":0}]}`, `"a"`,
			[]string{"$ | 'a' fits more than one of the schemas under oneOf: 0 and 1 | oneOf"}},
		{`false`, `1`, []string{"$ | 1 is not allowed here | "}},
		{`{"properties":{"a.b":{"$ref":"#/definitions/odd name"}},"definitions":{"odd name":{"type":"null"}}}`, `{"a.b":1}`,
			[]string{`$["a.b"] | 1 is not of type 'null' | definitions["odd name"].type`}},
		// The same cause on two paths is reported once.
		{`{"allOf":[{"$ref":"#/definitions/a"},{"$ref":"#/definitions/a"}],"definitions":{"a":{"type":"null"}}}`, `1`,
			[]string{"$ | 1 is not of type 'null' | definitions.a.type"}},
		{`{"type":"null"}`, `"` + strings.Repeat("é", 100) + `"`, []string{"$ | '" + strings.Repeat("é", 40) +
			"…' is not of type 'null' | type"}},
		{`{"type":"null"}`, `[` + same(100, "1") + `]`, []string{"$ | [" + strings.Repeat("1, ", 27) +
			"…] is not of type 'null' | type"}},
	} {
		if got := validate(t, compile(t, c.schema), c.value); !slices.Equal(got, c.want) {
			t.Errorf("%s of %s:\ngot  %q\nwant %q", c.schema, c.value, got, c.want)
		}
	}
}

// TestErrorsAreOrdered checks the order, the limit, and that both are stable.
func TestErrorsAreOrdered(t *testing.T) {
	s := compile(t, `{"properties":{`+numbered(100, `"p%d":{"type":"null"}`)+`},"dependencies":{`+numbered(20,
		`"p%d":["q"]`)+`}}`)
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprintf("$ | 'q' is a required property where 'p%d' is given | dependencies.p%d", i, i))
	}
	slices.Sort(want)
	for i := range paramschema.MaxErrors - 20 {
		want = append(want, fmt.Sprintf("$.p%d | %d is not of type 'null' | properties.p%d.type", 99-i, i, 99-i))
	}
	value := `{` + list(100, func(i int) string { return fmt.Sprintf(`"p%d":%d`, 99-i, i) }) + `}`
	for range 20 {
		if got := validate(t, s, value); !slices.Equal(got, want) {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
	}
}

// TestFirstErrorsOfMany uses values with more errors than are kept.
func TestFirstErrorsOfMany(t *testing.T) {
	s := compile(t, `{"required":[`+numbered(100, `"q%d"`)+`],"additionalProperties":{"type":"null"}}`)
	got := validate(t, s, `{`+numbered(3000, `"p%d":1`)+`}`)
	want := strings.Split(list(paramschema.MaxErrors,
		func(i int) string { return fmt.Sprintf("$ | 'q%d' is a required property | required", i) }), ",")
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	got = validate(t, compile(t, `{"additionalProperties":{"type":"null"}}`), `{`+numbered(3000, `"p%d":1`)+`}`)
	want = strings.Split(list(paramschema.MaxErrors, func(i int) string {
		return fmt.Sprintf("$.p%d | 1 is not of type 'null' | additionalProperties.type", i)
	}), ",")
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
