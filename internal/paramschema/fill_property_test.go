package paramschema_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/parleyhub/parley/internal/paramschema"
)

// Filling in a filled value changes nothing, and the original value is part of the result.
func TestFillIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		schema := drawSchema(3).Draw(t, "schema")
		value := drawValue(3).Draw(t, "value")
		s, err := paramschema.Compile(json.RawMessage(schema))
		if err != nil {
			t.Fatalf("compile %s: %v", schema, err)
		}
		once, err := s.Fill(json.RawMessage(value))
		if err != nil {
			t.Fatal(err)
		}
		twice, err := s.Fill(once)
		if err != nil || string(twice) != string(once) {
			t.Fatalf("%s with %s\nonce  %s\ntwice %s (%v)", value, schema, once, twice, err)
		}
		if !holds(decode(t, value), decode(t, string(once))) {
			t.Fatalf("%s with %s has lost something: %s", value, schema, once)
		}
		first, err := s.Validate(once)
		if err != nil {
			t.Fatal(err)
		}
		second, err := s.Validate(once)
		if err != nil || fmt.Sprint(first) != fmt.Sprint(second) {
			t.Fatalf("%s with %s:\nfirst  %q\nsecond %q (%v)", once, schema, first, second, err)
		}
	})
}

func decode(t *rapid.T, s string) any {
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

// holds reports whether all members of a value are in another one, at the same place.
func holds(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		o, ok := b.(map[string]any)
		for name, v := range a {
			part, there := o[name]
			ok = ok && there && holds(v, part)
		}
		return ok
	case []any:
		o, ok := b.([]any)
		ok = ok && len(o) == len(a)
		for i := 0; ok && i < len(a); i++ {
			ok = holds(a[i], o[i])
		}
		return ok
	}
	return a == b
}

// drawValue draws a small value with few names.
func drawValue(depth int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{`1`, `-2.50`, `"a"`, `""`, `null`, `true`, `{}`, `[]`})
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf, drawList(drawValue(depth-1)), drawObject(drawValue(depth-1)), drawObject(drawValue(depth-1)))
}

func drawList(items *rapid.Generator[string]) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return `[` + strings.Join(rapid.SliceOfN(items, 0, 3).Draw(t, "items"), ",") + `]`
	})
}

// drawObject draws an object with values from one generator.
func drawObject(values *rapid.Generator[string]) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		all := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "x y"}), values, 0, 3).Draw(t, "members")
		var members []string
		for _, name := range slices.Sorted(maps.Keys(all)) {
			members = append(members, fmt.Sprintf(`%q:%s`, name, all[name]))
		}
		return `{` + strings.Join(members, ",") + `}`
	})
}

// definition is the target of references in drawn schemas. Its defaults have nested defaults.
const definition = `"definitions":{"d":{"default":{"b":1},"properties":{"a":{"default":[{}],` +
	`"items":{"properties":{"b":{"default":2}}}},"c":{"properties":{"b":{"default":true}}}}}}`

// drawSchema draws a valid schema.
func drawSchema(depth int) *rapid.Generator[string] {
	return rapid.Map(drawKeywords(depth, false), func(keywords []string) string {
		return `{` + strings.Join(append(keywords, definition), ",") + `}`
	})
}

// drawKeywords draws the members of a schema. A nested schema may refer to the definition.
func drawKeywords(depth int, below bool) *rapid.Generator[[]string] {
	return rapid.Custom(func(t *rapid.T) []string {
		all := []*rapid.Generator[string]{
			rapid.Map(drawValue(2), func(v string) string { return `"default":` + v }),
			rapid.SampledFrom([]string{`"type":"object"`, `"type":["array","object"]`, `"type":"string"`}),
			rapid.Just(`"required":["a"]`),
		}
		if below {
			all = append(all, rapid.Just(`"$ref":"#/definitions/d"`))
		}
		if depth > 0 {
			schema := rapid.Map(drawKeywords(depth-1, true), func(k []string) string { return `{` + strings.Join(k, ",") + `}` })
			two := rapid.Map(rapid.SliceOfN(schema, 2, 2), func(s []string) string { return `[` + strings.Join(s, ",") + `]` })
			after := func(key string, g *rapid.Generator[string]) *rapid.Generator[string] {
				return rapid.Map(g, func(s string) string { return key + s })
			}
			all = append(all, after(`"properties":`, drawObject(schema)), after(`"items":`, schema),
				after(`"additionalProperties":`, schema),
				after(`"allOf":`, two), after(`"anyOf":`, two), after(`"patternProperties":`,
					rapid.Map(schema, func(s string) string { return `{"^[ab]$":` + s + `}` })))
		}
		var keywords []string
		for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(all)-1), 0, 5, rapid.ID[int]).Draw(t, "keywords") {
			keywords = append(keywords, all[i].Draw(t, "keyword"))
		}
		return keywords
	})
}
