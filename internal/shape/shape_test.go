package shape_test

import (
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/shape"
	"github.com/parleyhub/parley/internal/yamlfile"
)

var table = &shape.Shape{Kind: shape.Object, Members: []shape.Member{
	shape.Must("id", shape.ID("")),
	shape.May("on", shape.Switch("")),
	shape.May("map", shape.MapOf("", 2, shape.Line("", 3))),
	shape.May("words", shape.ListOf("", 1, 2, &shape.Shape{Kind: shape.Text, Empty: true, Most: 2})),
	shape.May("any", shape.Any("", 40)),
}}

// Valid values are returned as JSON with unchanged numbers. Invalid ones are left out and reported
// with their position.
func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"{id: a, on: true, map: {x: y}, words: ['', b], any: {n: [0.10, 1E5, null]}}": `{"id":"a","on":true,` +
			`"map":{"x":"y"},"words":["","b"],"any":{"n":[0.10,1E5,null]}}`,
		`{"id":"a","any":[1e400,"\ud83d\ude00"]}`: `{"id":"a","any":[1e400,"😀"]}`,
		"{id: a, on: yes}":                        `{"id":"a"} f:1:13: on: expected true or false`,
		"{id: a, on: 'true'}":                     `{"id":"a"} f:1:13: on: expected true or false`,
		"{id: a, map: {x: true}}":                 `{"id":"a","map":{}} f:1:18: map.x: expected a string: put it in quotes`,
		"{id: a, map: {x: long}}":                 `{"id":"a","map":{}} f:1:18: map.x: expected 1 to 3 bytes`,
		"{id: a, map: {a: b,c: d,e: f}":           `null f:2:1: not YAML: did not find expected for what began on line 1`,
		"{id: a, map: {a: b,c: d,e: f}}":          `{"id":"a"} f:1:14: map: expected at most 2 members`,
		"{id: a, map: []}":                        `{"id":"a"} f:1:14: map: expected members below it`,
		"{id: a, words: [abc]}":                   `{"id":"a","words":[null]} f:1:17: words[0]: expected 0 to 2 bytes`,
		"{id: a, ID: b}":                          `{"id":"a"} f:1:9: unknown: "ID"; is it id?`,
		"{any: &x 1}": `{} f:1:1: id is missing; f:1:7: any: expected the value itself: anchors and ` +
			`aliases are not taken`,
		"[]": `null f:1:1: expected a thing`,
		"":   `null f:1:1: expected a thing`,
	} {
		parse := yamlfile.Parse
		if strings.HasPrefix(text, `{"`) {
			parse = yamlfile.ParseJSON
		}
		r := &shape.Reader{File: "f", Expected: "expected a thing"}
		n, faults := parse([]byte(text))
		got := string(r.Read(table, n, faults))
		if got == "" {
			got = "null"
		}
		if r.Findings.Sort(); len(r.Findings) > 0 {
			got += " " + r.Findings.Error()
		}
		if got != want {
			t.Errorf("%s: %s, expected %s", text, got, want)
		}
	}
}
