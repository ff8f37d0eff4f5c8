package schema_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/parleyhub/parley/internal/schema"
	"github.com/parleyhub/parley/internal/schematest"
)

// TestDocumentsAreWhatTheyClaim holds the documents against the meta-schemas of OpenRPC and
// AsyncAPI.
func TestDocumentsAreWhatTheyClaim(t *testing.T) {
	for _, c := range []struct {
		name     string
		document []byte
		bad      string // what the meta-schema must not take
		instead  string
	}{
		{"openrpc", schema.OpenRPC, `"paramStructure": "by-name"`, `"paramStructure": "by-chance"`},
		{"asyncapi", schema.AsyncAPI, `"action": "receive"`, `"action": "hear"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			meta := compileFile(t, filepath.Join("testdata", "metaschema", c.name+".json"))
			if err := meta.Validate(decode(t, c.document)); err != nil {
				t.Errorf("%#v", err)
			}
			if meta.Validate(decode(t, bytes.Replace(c.document, []byte(c.bad), []byte(c.instead), 1))) == nil {
				t.Errorf("%s is taken", c.instead)
			}
			references(t, decode(t, c.document))
		})
	}
}

// TestEverySchemaStandsAlone compiles each schema by itself, as 2020-12 and as draft-07, which
// OpenRPC and AsyncAPI speak.
func TestEverySchemaStandsAlone(t *testing.T) {
	names := schema.Names()
	if len(names) < 60 || !slices.IsSorted(names) || !slices.Contains(names, "event") || !slices.Contains(names,
		"createConversation.params") {
		t.Fatalf("%d names: %v", len(names), names)
	}
	for _, name := range names {
		document, ok := schema.Lookup(name)
		if !ok {
			t.Fatalf("%s is listed and not there", name)
		}
		schematest.Compile(t, document)
		old := bytes.ReplaceAll(document, []byte(`"https://json-schema.org/draft/2020-12/schema"`),
			[]byte(`"http://json-schema.org/draft-07/schema#"`))
		if bytes.Equal(old, document) {
			t.Errorf("%s does not say its draft", name)
		}
		schematest.Compile(t, old)
		references(t, decode(t, document))
	}
	if _, ok := schema.Lookup("nothing"); ok {
		t.Error("there is a schema of nothing")
	}
}

// TestStrictAndOpen: what clients send is strict, what the hub sends is open.
func TestStrictAndOpen(t *testing.T) {
	for _, c := range []struct {
		name, instance string
		ok             bool
	}{
		{"ping.params", `{}`, true},
		{"ping.params", `{"new":1}`, false},
		{"ping.result", `{"nowMs":1,"new":1}`, true},
		{"ping.result", `{}`, false},
		{"event", `{"seq":1,"turn":1,"type":"message","from":"a","at":"2000-01-01T00:00:00.000Z","finality":"turn",` +
			`"payload":{"text":"a","new":1},"new":1}`, true},
		{"event", `{"seq":1,"turn":1,"type":"message","from":"a","at":"2000-01-01T00:00:00.000Z","finality":"later",` +
			`"payload":{"text":"a"}}`, true},
		{"event", `{"seq":1,"type":"hologram","from":"a","at":"2000-01-01T00:00:00.000Z","payload":7}`, true},
		{"event", `{"seq":1,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"new"}}`, true},
		{"event", `{"seq":1,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"note"}}`, false},
		{"event", `{"seq":1,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{}}`, false},
		{"event", `{"seq":1,"turn":1,"type":"message","from":"a","at":"2000-01-01T00:00:00.000Z","payload":{"text":"a"}}`,
			false},
		{"event", `{"seq":1,"turn":1,"type":"trace","from":"a","at":"2000-01-01T00:00:00.000Z","payload":{"text":"a"}}`,
			false},
		{"event", `{"seq":0,"type":"hologram","from":"a","at":"2000-01-01T00:00:00.000Z","payload":7}`, false},
		{"event", `{"seq":1,"type":"hologram","from":"a","at":"2000-01-01T00:00:00Z","payload":7}`, false},
		{"message", `{"data":null}`, true},
		{"message", `{"schema":"a"}`, false},
		{"notification", `{"jsonrpc":"2.0","method":"new","params":{}}`, true},
		{"notification", `{"jsonrpc":"2.0","method":"caught_up","params":{}}`, false},
		{"request", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, true},
		{"request", `{"jsonrpc":"2.0","id":1,"method":"tail"}`, false},
		{"request", `{"jsonrpc":"2.0","id":1,"method":"claimTurn","params":{}}`, false},
	} {
		document, ok := schema.Lookup(c.name)
		if !ok {
			t.Fatalf("there is no %s", c.name)
		}
		if err := schematest.Compile(t, document).Validate(decode(t, []byte(c.instance))); (err == nil) != c.ok {
			t.Errorf("%s: %s: %v", c.name, c.instance, err)
		}
	}
}

func compileFile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	document, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return schematest.Compile(t, document)
}

func decode(t *testing.T, b []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// references fails for a $ref without a target, and for a $ref with siblings, which draft-07
// ignores.
func references(t *testing.T, document any) {
	t.Helper()
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if to, ok := v["$ref"].(string); ok && !resolves(document, to) {
				t.Errorf("%s leads nowhere", to)
			}
			for name, e := range v {
				_, isReference := v["$ref"]
				if isReference && !slices.Contains([]string{"$ref", "description", "$schema", "$id", "$defs"}, name) {
					t.Errorf("%s stands beside %v", name, v["$ref"])
				}
				walk(e)
			}
		}
	}
	walk(document)
}

func resolves(document any, to string) bool {
	for name := range strings.SplitSeq(strings.TrimPrefix(to, "#/"), "/") {
		object, ok := document.(map[string]any)
		if !ok {
			return false
		}
		if document, ok = object[name]; !ok {
			return false
		}
	}
	return true
}
