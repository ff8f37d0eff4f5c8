package rpc_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/parleyhub/parley/internal/schema"
	"github.com/parleyhub/parley/internal/schematest"
)

// published are schemas, compiled when they are first asked for.
type published struct {
	t        testing.TB
	change   func(document any) any // before it is compiled; nil: as it is
	compiled map[string]*jsonschema.Schema
}

func (p *published) check(name string, instance []byte) error {
	p.t.Helper()
	s, ok := p.compiled[name]
	if !ok {
		document, found := schema.Lookup(name)
		if !found {
			p.t.Fatalf("there is no schema %s", name)
		}
		if p.change != nil {
			changed, err := json.Marshal(p.change(decodeJSON(p.t, document)))
			if err != nil {
				p.t.Fatal(err)
			}
			document = changed
		}
		s = schematest.Compile(p.t, document)
		if p.compiled == nil {
			p.compiled = map[string]*jsonschema.Schema{}
		}
		p.compiled[name] = s
	}
	return s.Validate(decodeJSON(p.t, instance))
}

func decodeJSON(t testing.TB, b []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return v
}

// definitionsOf are the schemas of a document by their titles: the document itself, and those that
// it refers to.
func definitionsOf(document any) map[string]map[string]any {
	root := document.(map[string]any)
	definitions := map[string]map[string]any{root["title"].(string): root}
	others, _ := root["$defs"].(map[string]any)
	for name, d := range others {
		definitions[name] = d.(map[string]any)
	}
	return definitions
}

// closed makes open schemas strict, so that the hub is found out when it sends what they do not
// name: no other members, but in payloads that clients put together, and no other values than those
// of this version.
func closed(document any) any {
	for name, definition := range definitionsOf(document) {
		if _, ok := definition["properties"]; ok && !slices.Contains([]string{"Message", "Trace", "Attachment"}, name) {
			definition["additionalProperties"] = false
		}
		closeValues(definition)
	}
	return document
}

// closeValues takes the string, or integer, out of {anyOf: [{enum}, {type}]}.
func closeValues(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			closeValues(e)
		}
	case map[string]any:
		if options, ok := v["anyOf"].([]any); ok {
			if first, _ := options[0].(map[string]any); first["enum"] != nil {
				v["anyOf"] = options[:1]
			}
		}
		for _, e := range v {
			closeValues(e)
		}
	}
}

// asyncMessages compiles the payload of each message of the AsyncAPI document.
func asyncMessages(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	var doc struct {
		Components struct {
			Messages map[string]struct{ Payload map[string]any }
			Schemas  map[string]any
		}
	}
	if err := json.Unmarshal(schema.AsyncAPI, &doc); err != nil {
		t.Fatal(err)
	}
	messages := map[string]*jsonschema.Schema{}
	for name, m := range doc.Components.Messages {
		m.Payload["$schema"] = "http://json-schema.org/draft-07/schema#"
		m.Payload["components"] = map[string]any{"schemas": doc.Components.Schemas}
		b, err := json.Marshal(m.Payload)
		if err != nil {
			t.Fatal(err)
		}
		messages[name] = schematest.Compile(t, b)
	}
	return messages
}

func openRPCErrors(t *testing.T) map[string][]string {
	t.Helper()
	var doc struct {
		Methods []struct {
			Name   string
			Errors []struct {
				Ref string `json:"$ref"`
			}
		}
	}
	if err := json.Unmarshal(schema.OpenRPC, &doc); err != nil {
		t.Fatal(err)
	}
	listed := map[string][]string{}
	for _, m := range doc.Methods {
		for _, e := range m.Errors {
			listed[m.Name] = append(listed[m.Name], strings.TrimPrefix(e.Ref, "#/components/errors/"))
		}
	}
	return listed
}
