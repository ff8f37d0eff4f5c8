package paramschema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/paramschema"
)

// FuzzCompileValidate looks for a schema or value that makes the library panic, takes long, or has
// another result than with the library alone.
func FuzzCompileValidate(f *testing.F) {
	for _, value := range []string{`{"url":"x","depth":1.5,"a":[1,{"b":null}]}`, `[1e400,-0.0,"\u0000",{}]`, `"P1D"`,
		`3`} {
		for _, schema := range seeds {
			f.Add(schema, value)
		}
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		begin := cpuTime()
		s, err := paramschema.Compile(json.RawMessage(schema))
		if took := cpuTime() - begin; took > *stallWithin {
			t.Fatalf("compile took %v", took)
		}
		if errors.Is(err, parley.ErrInternal) {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		begin = cpuTime()
		wrong, err := s.Validate(json.RawMessage(value))
		if took := cpuTime() - begin; took > *stallWithin {
			t.Fatalf("validate took %v", took)
		}
		if errors.Is(err, parley.ErrInternal) {
			t.Fatal(err)
		}
		if err == nil {
			alone(t, schema, value, wrong)
			again(t, s, value, wrong)
		}
		filled, err := s.Fill(json.RawMessage(value))
		if errors.Is(err, parley.ErrInternal) {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		if twice, err := s.Fill(filled); err == nil && !bytes.Equal(filled, twice) {
			t.Fatalf("once  %s\ntwice %s", filled, twice)
		}
	})
}

// again checks that the same value has the same errors, and that each has a message.
func again(t *testing.T, s *paramschema.Schema, value string, wrong []parley.ValidationError) {
	second, err := s.Validate(json.RawMessage(value))
	if err != nil || fmt.Sprint(wrong) != fmt.Sprint(second) {
		t.Fatalf("first  %q\nsecond %q (%v)", wrong, second, err)
	}
	for _, w := range wrong {
		if !strings.HasPrefix(w.Path, "$") || w.Message == "" || len(wrong) > paramschema.MaxErrors {
			t.Fatalf("%q", wrong)
		}
	}
}

// alone checks that the library has the same result with the unchanged schema. It skips schemas
// from which keywords are removed or changed.
func alone(t *testing.T, schema, value string, wrong []parley.ValidationError) {
	for _, word := range []string{`$`, `\u`, `id`, `content`, `regex`, `duration`, `period`} {
		if strings.Contains(schema, word) {
			return
		}
	}
	c := jsonschema.NewCompiler()
	c.Draft, c.AssertFormat = jsonschema.Draft7, true
	if err := c.AddResource("urn:alone", strings.NewReader(schema)); err != nil {
		t.Fatalf("the library does not read it: %v", err)
	}
	compiled, err := c.Compile("urn:alone")
	if err != nil {
		t.Fatalf("the library refuses it: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(value))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(v); (err == nil) != (wrong == nil) {
		t.Fatalf("the library alone: %v; here: %q", err, wrong)
	}
}

var seeds = []string{
	crawler, `true`, `false`, `{}`, `{"$ref":"#"}`, `{"items":{"$ref":"#"},"type":["array","integer","object","string"]}`,
	`{"$schema":"http://json-schema.org/draft-04/schema#","$ref":3,"regexProperties":3,"exclusiveMinimum":true,` +
		`"divisibleBy":1,"format":3}`,
	`{"$schema":"http://json-schema.org/draft-04/schema#","patternProperties":{"^a":{"not":{}}},"additionalItems":{},` +
		`"dependencies":{"a":["b"]}}`,
	`{"$schema":"http://json-schema.org/draft-06/schema#","contains":{"const":1},"propertyNames":{"minLength":1},` +
		`"examples":3}`,
	`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":3,"$vocabulary":3,"minContains":0,` +
		`"dependentRequired":{"a":["b"]},"unevaluatedItems":false}`,
	`{"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{"minimum":1}],"items":false,` +
		`"$dynamicAnchor":3,"$defs":{"a":{"$anchor":"b"}},"unevaluatedProperties":{"type":"null"}}`,
	`{"if":{"type":"string"},"then":{"pattern":"^(a|b)*$","format":"regex"},"else":{"multipleOf":1e-400,"maximum":1e400}}`,
	`{"contentEncoding":"base64","contentMediaType":"application/json","contentSchema":{"$ref":"x"},"enum":[1,` +
		`{"a":[1e400]}],"const":null}`,
	`{"properties":{"a":{"default":{},"$ref":"#/definitions/a"}},"definitions":{"a":{"anyOf":[{"oneOf":[{},{}]},` +
		`{"allOf":[false]}]}},"uniqueItems":true}`,
	`{"properties":{"a":{"$ref":"#/x/0/%61"}},"x":[{"a":{"required":["b"]}}],"minProperties":2,` +
		`"additionalProperties":false}`,
}

func BenchmarkValidate(b *testing.B) {
	s := compile(b, crawler)
	value := json.RawMessage(`{"url":"https://example.com/a/b?c=d","depth":3}`)
	b.ReportAllocs()
	for b.Loop() {
		if wrong, err := s.Validate(value); err != nil || wrong != nil {
			b.Fatal(wrong, err)
		}
	}
}

func BenchmarkFill(b *testing.B) {
	s := compile(b, crawler)
	value := json.RawMessage(`{"url":"https://example.com/a/b?c=d"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Fill(value); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		compile(b, crawler)
	}
}
