package paramschema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/paramschema"
)

// TestRefusedSchemas checks the place and the message of refusals.
func TestRefusedSchemas(t *testing.T) {
	const draft2020 = `"$schema":"https://json-schema.org/draft/2020-12/schema",`
	for _, c := range []struct{ name, schema, want string }{
		{"nothing", ``, "the schema: it is not JSON"},
		{"no JSON", `{"type":`, "the schema: it is not JSON"},
		{"two", `{}{}`, "the schema: it is not JSON"},
		{"no schema", `3`, "the schema: expected object or boolean, but got number"},
		{"a member twice", `{"properties":{"a":{"type":"null","type":"string"}}}`, "properties.a: it has 'type' twice"},
		{"a word that is no type", `{"properties":{"a":{"type":"strnig"}}}`,
			`properties.a.type: value must be one of "array"`},
		{"a type in a list", `{"items":[{},{"type":["null",3]}]}`, `items.1.type.1: value must be one of "array"`},
		{"a negative count", `{"properties":{"a b":{"minLength":-1}}}`,
			`properties["a b"].minLength: must be >= 0 but found -1`},
		{"a count of no number", `{"minLength":"x"}`, "minLength: expected integer, but got string"},
		{"required of draft 3", `{"properties":{"a":{"required":true}}}`,
			"properties.a.required: expected array, but got boolean"},
		{"properties of no object", `{"properties":[]}`, "properties: expected object, but got array"},
		{"multiples of nothing", `{"multipleOf":0}`, "multipleOf: must be > 0 but found 0"},
		{"a title of no text", `{"title":3}`, "title: expected string, but got number"},
		{"true in draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":true}}`,
			"properties.a: expected object, but got boolean"},

		{"a large exponent", `{"properties":{"a":{"maximum":1e1000000000}}}`,
			"properties.a.maximum: 1e1000000000 has an exponent too large"},
		{"a small exponent", `{"multipleOf":1e-401}`, "multipleOf: 1e-401 has an exponent too large"},
		{"an exponent of nothing", `{"default":0e2000000}`, "default: 0e2000000 has an exponent too large"},
		{"many digits", `{"enum":[1,0.` + strings.Repeat("3", 127) + `]}`, "enum.1: 0." + strings.Repeat("3", 78) +
			"… is a number too long"},
		{"a large count", `{"items":{"minLength":1e30}}`,
			"items.minLength: 1e30 is too large (expected at most 9007199254740992)"},
		{"an endless count", `{"maxItems":1e400}`, "maxItems: 1e400 is too large"},

		{"nesting", strings.Repeat(`{"items":`, 33) + `{}` + strings.Repeat(`}`, 33),
			strings.TrimSuffix(strings.Repeat("items.", 32), ".") + ": it nests too deep (expected at most 32 levels)"},
		{"many schemas", `{"allOf":[` + same(paramschema.MaxSubschemas, `{}`) + `]}`,
			"allOf.1999: there are too many schemas in it (expected at most 2000)"},
		{"a long name", `{"properties":{"` + strings.Repeat("a", 257) + `":{}}}`, "properties." + strings.Repeat("a", 80) +
			"…: the name has 257 bytes (expected at most 256)"},
		{"a long path", strings.Repeat(`{"properties":{"`+strings.Repeat("é", 100)+`":`, 4) + `{}` + strings.Repeat(`}}`, 4),
			strings.TrimSuffix(strings.Repeat(`properties["`+strings.Repeat("é", 40)+`…"].`, 4), ".") +
				": the path to it is too long"},
		{"a large enum", `{"items":{"enum":[` + same(10_000, `1`) + `]}}`,
			"the schema: it is too large when its references are written out"},
		{"2^40 schemas", doubling(40, "anyOf"), "the schema: it is too large when its references are written out"},
		{"2^40 defaults", `{"type":"object",` + doubling(40, "")[1:],
			"the schema: it is too large when its references are written out"},
		{"a long chain", `{"$ref":"#/definitions/a0","definitions":{` + chain(70, `{}`) + `}}`,
			"the schema: too many schemas are inside each other"},
		{"a large definition that nobody refers to", strings.Replace(doubling(20, "allOf"), `"$ref":"#/definitions/a0",`, "",
			1), "definitions.a0: it is too large"},

		{"endless", `{"$ref":"#"}`, "$ref: it refers to itself without end"},
		{"endless below", `{"properties":{"a":{"$ref":"#/definitions/b"}},"definitions":{"b":{"$ref":"#/definitions/c"},` +
			`"c":{"$ref":"#/definitions/b"}}}`, "definitions.b.$ref: it refers to itself without end"},
		{"anyOf", `{"anyOf":[{"type":"null"},{"items":{"$ref":"#"}}]}`,
			"anyOf.1: the schema contains itself through anyOf (expected recursion through properties"},
		{"allOf", `{"allOf":[{"$ref":"#"}]}`, "allOf.0: the schema contains itself through allOf"},
		{"not", `{"not":{"properties":{"a":{"$ref":"#"}}}}`, "not: the schema contains itself through not"},
		{"if", `{"if":{"items":{"$ref":"#"}}}`, "if: the schema contains itself through if"},
		{"then", `{"if":true,"then":{"items":{"$ref":"#"}}}`, "then: the schema contains itself through then"},
		{"contains", `{"items":{"$ref":"#"},"contains":{"$ref":"#"}}`,
			"contains: the schema contains itself through contains"},
		{"patternProperties", `{"patternProperties":{"a":{"$ref":"#"},"b":{"$ref":"#"}}}`,
			"patternProperties.a: the schema contains itself through patternProperties"},
		{"propertyNames", `{"propertyNames":{"$ref":"#"}}`,
			"propertyNames: the schema contains itself through propertyNames"},
		{"dependencies", `{"dependencies":{"a":{"$ref":"#"}}}`,
			"dependencies.a: the schema contains itself through dependencies"},
		{"dependentSchemas", `{` + draft2020 + `"dependentSchemas":{"a":{"items":{"$ref":"#"}}}}`,
			"dependentSchemas.a: the schema contains itself through dependentSchemas"},
		{"unevaluatedItems", `{` + draft2020 + `"unevaluatedItems":{"$ref":"#"}}`,
			"unevaluatedItems: the schema contains itself through unevaluatedItems"},
		{"beside a reference", `{` + draft2020 + `"$ref":"#/$defs/b","properties":{"x":{"$ref":"#"}},` +
			`"$defs":{"b":{"properties":{"x":{"$ref":"#"}}}}}`,
			"$ref: the schema contains itself through $ref and through properties beside it"},
		{"defaults without end", `{"properties":{"a":{"$ref":"#"}},"default":{}}`,
			"properties.a: its default, with the defaults inside it filled in, is too large or has no end"},
		{"2^10 defaults", `{"$ref":"#/definitions/a0","definitions":{` +
			list(10, func(i int) string {
				return fmt.Sprintf(`"a%d":{"default":{},"properties":{"x":{"$ref":"#/definitions/a%d"},`+
					`"y":{"$ref":"#/definitions/a%d"}}}`, i, i+1, i+1)
			}) + `,"a10":{"default":"` + strings.Repeat("x", 3000) + `"}}}`,
			"definitions.a0.properties.x: its default, with the defaults inside it filled in, is too large"},

		{"dynamicRef", `{` + draft2020 + `"$dynamicRef":"#a","$dynamicAnchor":"a"}`,
			"$dynamicRef: its target depends on the caller and cannot be resolved here"},
		{"recursiveRef", `{"$schema":"https://json-schema.org/draft/2019-09/schema","items":{"$recursiveRef":"#"}}`,
			"items.$recursiveRef: its target depends on the caller and cannot be resolved here"},
		{"an anchor", `{` + draft2020 + `"items":{"$ref":"#a"},"$defs":{"a":{"$anchor":"a"}}}`,
			"items.$ref: '#a' is not within this schema"},
		{"an id as anchor", `{"items":{"$ref":"#a"},"definitions":{"a":{"$id":"#a"}}}`,
			"items.$ref: '#a' is not within this schema"},
		{"an id below", `{"definitions":{"a":{"$id":"http://example.com/a"}}}`,
			"definitions.a.$id: a nested schema has no own address"},
		{"an id below in draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","items":{"id":"b"}}`,
			"items.id: a nested schema has no own address"},
		{"a reference to nothing", `{"items":{"$ref":"#/definitions/a"}}`,
			"items.$ref: '#/definitions/a' is not within this schema"},
		{"a reference to no index", `{"items":{"$ref":"#/allOf/01"},"allOf":[{},{}]}`,
			"items.$ref: '#/allOf/01' is not within this schema"},
		{"a reference with a bad escape", `{"items":{"$ref":"#/%zz"},"%zz":{}}`,
			"items.$ref: '#/%zz' is not within this schema"},
		{"a reference to no name", `{"items":{"$ref":"#/"},"":{}}`, "items.$ref: '#/' is not within this schema"},
		{"a reference to text", `{"items":{"$ref":"#/title"},"title":"a"}`, "items.$ref: '#/title' is no schema"},
		{"a reference of no text", `{"$schema":"http://json-schema.org/draft-04/schema#","items":{"$ref":3}}`,
			"items.$ref: it is no reference"},
		{"an unknown draft", `{"$schema":"http://json-schema.org/draft-03/schema#"}`,
			"$schema: 'http://json-schema.org/draft-03/schema#' is no version that is known"},
		{"another draft below", `{"items":{"$schema":"http://json-schema.org/draft-04/schema#"}}`,
			"items.$schema: 'http://json-schema.org/draft-04/schema#' is not the version of the whole schema"},
	} {
		within(t, c.name, func() {
			e := refused(t, c.schema)
			if !errors.Is(e, parley.ErrValidationFailed) {
				t.Errorf("%s: %v", c.name, e)
			}
			if got := strings.TrimPrefix(e.Error(), "validation_failed: "); !strings.HasPrefix(got, c.want) ||
				e.Expected == "" || len(got) > 1000 {
				t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
			}
		})
	}
}

// doubling is a schema of size 2^n with its references written out.
func doubling(n int, keyword string) string {
	if keyword == "" {
		return `{"$ref":"#/definitions/a0","definitions":{` + list(n, func(i int) string {
			return fmt.Sprintf(`"a%d":{"default":{},"properties":{"x":{"$ref":"#/definitions/a%d"},`+
				`"y":{"$ref":"#/definitions/a%d"}}}`, i, i+1, i+1)
		}) + fmt.Sprintf(`,"a%d":{}}}`, n)
	}
	inner := list(n, func(i int) string {
		return fmt.Sprintf(`"a%d":{"%s":[{"$ref":"#/definitions/a%d"},{"$ref":"#/definitions/a%d"}]}`, i, keyword, i+1, i+1)
	})
	return `{"$ref":"#/definitions/a0","definitions":{` + inner + fmt.Sprintf(`,"a%d":{}}}`, n)
}

func TestTooManyBytes(t *testing.T) {
	for _, schema := range []string{
		`{"title":"` + strings.Repeat("a", paramschema.MaxBytes) + `"}`,
		`{"enum":[` + same(100_000, `1`) + `]}`,
	} {
		e := refused(t, schema)
		want := fmt.Sprintf("too_large: the schema: it has %d bytes (expected at most 65536)", len(schema))
		if !errors.Is(e, parley.ErrTooLarge) || e.Error() != want {
			t.Errorf("got %v, want %s", e, want)
		}
	}
	full := `{"title":"` + strings.Repeat("a", paramschema.MaxBytes-len(`{"title":""}`)) + `"}`
	if _, err := paramschema.Compile(json.RawMessage(full)); err != nil {
		t.Errorf("%d bytes: %v", len(full), err)
	}
}
