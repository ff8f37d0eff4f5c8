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

// attack is a schema with values that grow with n. With n = most they are just accepted. With four
// times as many, or the given number, they are refused.
type attack struct {
	name   string
	schema string
	value  func(n int) string
	most   int
	more   int
}

func items(item string) func(int) string {
	return func(n int) string { return `[` + same(n, item) + `]` }
}

func members(format string) func(int) string {
	return func(n int) string { return `{` + numbered(n, format) + `}` }
}

func long(part string) func(int) string {
	return func(n int) string { return `["` + strings.Repeat(part, n) + `"]` }
}

var attacks = []attack{
	{name: "items of the wrong type", schema: `{"items":{"type":"integer"}}`, value: items(`"x"`), most: 100_000,
		more: 200_000},
	{name: "items where none may be", schema: `{"items":false}`, value: items(`{}`), most: 100_000, more: 200_000},
	{name: "multiples with many digits", schema: `{"items":{"multipleOf":1.` + strings.Repeat("3", 120) + `e-390}}`,
		value: items(`9.` + strings.Repeat("7", 120) + `e-400`), most: 1_000, more: 10_000},
	{name: "multiples of very little", schema: `{"items":{"multipleOf":1e-400}}`, value: items(`1e308`), most: 1_500,
		more: 20_000},
	{name: "a long enum of numbers", schema: `{"items":{"enum":[` + numbered(5000, `%d`) + `]}}`, value: items(`-3`),
		most: 32},
	{name: "a long enum of lists", schema: `{"items":{"enum":[` + numbered(800, `[[[1,2,3,4,5,6,7,8,%d]]]`) + `]}}`,
		value: items(`[[[1,2,3,4,5,6,7,8,-3]]]`), most: 15},
	{name: "a long const", schema: `{"items":{"const":"` + strings.Repeat("x", 60_000) + `"}}`, value: items(`-3`),
		most: 40},
	{name: "many names required", schema: `{"items":{"required":[` + numbered(5000, `"%d"`) + `]}}`, value: items(`{}`),
		most: 50},
	{name: "a wide object for many schemas", schema: `{"allOf":[` + same(1900, `{"minProperties":1}`) + `]}`,
		value: members(`"k%d":0`), most: 250},
	{name: "a wide array for many schemas", schema: `{"allOf":[` + same(1900, `{"minItems":1000000}`) + `]}`,
		value: items(`0`), most: 600},
	{name: "names that are not declared",
		schema: `{"patternProperties":{"(a|b|c)*(y|x){30}$":{}},"additionalProperties":false}`,
		value:  members(`"k%daaaaaaaaaaaaaaaaa":0`), most: 3_000},
	{name: "names that do not match", schema: `{"propertyNames":{"pattern":"^z","maxLength":1}}`,
		value: members(`"k%d":0`), most: 40_000},
	{name: "a long text and a large pattern", schema: `{"items":{"pattern":"(a{1,10}){1,10}c"}}`, value: long("a"),
		most: 60_000},
	{name: "a long text and a pattern of dots", schema: `{"items":{"pattern":".*.*.*.*.*.*.*=.*.*.*x"}}`,
		value: long("a="), most: 290_000},
	{name: "a text of many formats", schema: `{"allOf":[` + same(1000, `{"format":"ipv4"}`) + `]}`,
		value: func(n int) string { return `"` + strings.Repeat(".", n) + `"` }, most: 4_900},
	{name: "a long duration", schema: `{"format":"duration"}`, value: func(n int) string {
		return `"P` +
			strings.Repeat("1Y", n) + `"`
	}, most: 1_000_000, more: 9_000_000},
	{name: "values that are to be patterns", schema: `{"items":{"format":"regex"}}`,
		value: items(`"` + strings.Repeat(`[\\pL\\pN]`, 4) + `"`), most: 200},
	{name: "values that are to be wide patterns", schema: `{"items":{"format":"regex"}}`,
		value: items(`"(?i)[A-\\x{1e900}]"`), most: 200},
	{name: "values that are to be nested patterns", schema: `{"items":{"format":"regex"}}`,
		value: items(`"` + strings.Repeat(`(`, 100) + `a` + strings.Repeat(`{1,2})`, 100) + `"`), most: 2_000},
	{name: "lists made to have one hash", schema: `{"uniqueItems":true}`, most: 1_500, more: 5_000, value: collisions},
	{name: "100,000 unique numbers", schema: `{"uniqueItems":true}`, value: func(n int) string {
		return `[` + numbered(n,
			`%d`) + `]`
	}, most: 100_000, more: 200_000},
	{name: "twenty lists each", schema: `{"items":{"uniqueItems":true}}`,
		value: items(`[` + numbered(20, `[1,2,3,4,5,6,7,8,9,%d]`) + `]`), most: 35},
	{name: "a long chain", schema: `{"items":{"$ref":"#/definitions/a0"},"definitions":{` + chain(60,
		`{"type":"string"}`) + `}}`, value: items(`3`), most: 450},
	{name: "deep recursion", schema: `{"items":{"$ref":"#"},"type":"array"}`, value: items(strings.Repeat("[", 60) + "3" +
		strings.Repeat("]", 60)), most: 100},
	{name: "a wide anyOf", schema: `{"items":{"anyOf":[` + same(1900, `{"type":"string"}`) + `]}}`, value: items(`3`),
		most: 60},
	{name: "a wide oneOf", schema: `{"items":{"oneOf":[` + same(900, `{"properties":{"a":{"type":"string"}}}`) + `]}}`,
		value: items(`{"a":3,"b":4}`), most: 45},
	{name: "a long name in the value", schema: `{"additionalProperties":{"items":{"type":"integer"}}}`, most: 30,
		value: func(n int) string {
			return `{"` + strings.Repeat("é", 300_000) + `":[` + same(n, `"x"`) + `]}`
		}},
	{name: "a long name in the schema", schema: `{"properties":{"` + strings.Repeat("é", 120) +
		`":{"items":{"type":"integer"}}}}`, most: 25_000, value: func(n int) string {
		return `{"` + strings.Repeat("é", 120) + `":[` + same(n, `"x"`) + `]}`
	}},
	{name: "a type that means nothing",
		schema: `{"items":{"$ref":"#/definitions/a","type":"null"},"definitions":{"a":{"allOf":[` + same(1900,
			`{"type":"string"}`) + `]}}}`,
		value: items(`3`), most: 55},
	{name: "many dependencies", schema: `{"items":{"dependencies":{"a":[` + numbered(2000, `"%d"`) + `]}}}`,
		value: items(`{"a":3}`), most: 60},
	{name: "unevaluated members", schema: `{"$schema":"https://json-schema.org/draft/2020-12/schema","allOf":[` + same(500,
		`{"properties":{"k1":true}}`) + `],"unevaluatedProperties":false}`,
		value: members(`"k%d":0`), most: 750},
	{name: "nothing is asked", schema: `{}`, value: items(`0`), most: 250_000, more: 300_000},
}

// collisions returns lists of four texts with the same hash in the library: it separates texts by
// the byte 3, which they contain.
func collisions(n int) string {
	const length = 30
	words := func(n int) string { return `"x` + strings.Repeat(`\u0003x`, n) + `"` }
	var lists []string
	for a := range length {
		for b := range length - a {
			for c := range length - a - b {
				lists = append(lists, `[`+words(a)+`,`+words(b)+`,`+words(c)+`,`+words(length-a-b-c)+`]`)
			}
		}
	}
	return `[` + strings.Join(lists[:min(n, len(lists))], ",") + `]`
}

// TestValidateEnds checks values that take as long as possible: just below the limit, and
// above it.
func TestValidateEnds(t *testing.T) {
	for i, a := range attacks {
		if testing.Short() && i%8 != 0 {
			continue
		}
		s := compile(t, a.schema)
		value := json.RawMessage(a.value(a.most))
		within(t, a.name, func() {
			if _, err := s.Validate(value); err != nil {
				t.Errorf("%s, %d: %v", a.name, a.most, err)
			}
		})
		if a.more == 0 {
			a.more = 4 * a.most
		}
		value = json.RawMessage(a.value(a.more))
		within(t, a.name+", more", func() {
			if _, err := s.Validate(value); !errors.Is(err, parley.ErrTooLarge) {
				t.Errorf("%s, %d: %v", a.name, a.more, err)
			}
		})
	}
}

// TestTooManySteps checks the message of the refusal.
func TestTooManySteps(t *testing.T) {
	s := compile(t, `{"items":{"type":"integer"}}`)
	_, err := s.Validate(json.RawMessage(`[` + same(200_000, `1`) + `]`))
	want := "too_large: it would take too long to hold the value against its schema (expected a smaller value, or a " +
		"simpler schema: at most 3000000 steps)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestCompileEnds compiles schemas that take as long as possible, in the drafts that differ
// most. Some are refused.
func TestCompileEnds(t *testing.T) {
	name := strings.Repeat("é", 120)
	for _, c := range []struct{ name, body string }{
		{"many schemas", `"properties":{` + numbered(1990, `"p%d":{"type":["null"]}`) + `}`},
		{"many references", `"allOf":[` + numbered(1300, `{"$ref":"#/definitions/%d"}`) + `],"definitions":{` + numbered(600,
			`"%d":{"type":"string"}`) + `}`},
		{"many references to one schema", `"items":[` + same(1500, `{"$ref":"#/definitions/a"}`) +
			`],"definitions":{"a":{}}`},
		{"a reference in many spellings", `"definitions":{"aaaaaaaa":{"enum":["` + strings.Repeat("x", 10_000) +
			`"]}},"items":[` + list(1300, func(i int) string {
			spelt := ""
			for bit := range 8 {
				if spelt += "a"; i>>bit&1 == 1 {
					spelt = spelt[:len(spelt)-1] + "%61"
				}
			}
			return `{"$ref":"#/definitions/` + spelt + `"}`
		}) + `]`},
		{"long names inside each other", strings.Repeat(`"properties":{"`+name+`":{`, 2) + `"properties":{` + numbered(1900,
			`"p%d":{}`) + `}` + strings.Repeat(`}}`, 2)},
		{"short names inside each other", strings.Repeat(`"properties":{"`+strings.Repeat("x", 120)+`":{`, 14) +
			`"properties":{` + numbered(1900, `"p%d":{}`) + `}` + strings.Repeat(`}}`, 14)},
		{"recursion that is looked for", `"items":{"$ref":"#"},"properties":{` + numbered(900, `"p%d":{"allOf":[{}]}`) + `}`},
		{"many that recur", `"properties":{` + numbered(1900, `"p%d":{"$ref":"#"}`) + `}`},
		{"many anyOf that end at one schema", `"definitions":{` + numbered(450,
			`"a%d":{"anyOf":[{"items":{"$ref":"#/definitions/b"}}]}`) + `,"b":{"properties":{` +
			numbered(400, `"%d":{}`) + `}}}`},
		{"many classes in patterns", `"properties":{` + numbered(120, `"p%d":{"pattern":"[`+strings.Repeat(`\\pL`, 1)+`]"}`) +
			`}`},
		{"folded classes in patterns", `"properties":{` + numbered(30, `"p%d":{"pattern":"(?i)[^\\pL]"}`) + `}`},
		{"long patterns", `"properties":{` + numbered(30, `"p%d":{"pattern":"[`+strings.Repeat("a-z", 650)+`]"}`) + `}`},
		{"wide patterns", `"patternProperties":{` + numbered(1000, `"%d(?i)[A-\\x{1e900}]":{}`) + `}`},
		{"patterns of names", `"patternProperties":{` + numbered(300, `"^%d(ab|cd)$":{}`) + `}`},
		{"large multiples", `"items":[` + same(300, `{"multipleOf":1.`+strings.Repeat("3", 120)+`e-390,"minimum":1e400}`) +
			`]`},
		{"nested lists of items", `"items":` + strings.Repeat(`[`, 31) + strings.Repeat(`]`, 31)},
		{"nested schemas", strings.Repeat(`"items":{`, 31) + strings.Repeat(`}`, 31)},
		{"nested choices", strings.Repeat(`"anyOf":[{`, 15) + `"type":"x"` + strings.Repeat(`}]`, 15)},
		{"what is wrong everywhere", `"items":[` + same(1900, `{"type":"x","minLength":-1}`) + `]`},
		{"defaults everywhere", `"properties":{` + numbered(1500, `"p%d":{"default":{"a":[]}}`) + `}`},
		{"a large enum", `"enum":[` + numbered(9_000, `%d`) + `]`},
		{"a large required", `"required":[` + numbered(7_000, `"%d"`) + `]`},
		{"a large enum of types", `"type":[` + same(9_000, `"null"`) + `]`},
	} {
		for _, draft := range []string{"-04", "-07", "/2020-12"} {
			if testing.Short() && draft != "/2020-12" {
				continue
			}
			schema := fmt.Sprintf(`{"$schema":"http://json-schema.org/draft%s/schema",%s}`, draft, c.body)
			within(t, c.name+" in draft"+draft, func() {
				_, err := paramschema.Compile(json.RawMessage(schema))
				if err != nil && !errors.Is(err, parley.ErrValidationFailed) {
					t.Errorf("%s in draft%s: %v", c.name, draft, err)
				}
			})
		}
	}
}
