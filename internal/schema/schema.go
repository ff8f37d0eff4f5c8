// Package schema holds the published documents of the protocol: OpenRPC, AsyncAPI, and a JSON
// Schema for everything that goes over the wire. They are generated (see package generate) and kept
// true by the tests of package rpc:
//
//	go test ./rpc -run Schemas -update
package schema

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// The documents, as they are served.
var (
	//go:embed documents/openrpc.json
	OpenRPC []byte
	//go:embed documents/asyncapi.json
	AsyncAPI []byte

	//go:embed documents/schemas.json
	all []byte
)

// collection is the file of all schemas.
type collection struct {
	Version     string                     `json:"$schema"`
	ID          string                     `json:"$id"`
	Names       map[string]string          `json:"x-names"`
	Definitions map[string]json.RawMessage `json:"$defs"`
}

var loaded = sync.OnceValue(func() collection {
	var c collection
	if err := json.Unmarshal(all, &c); err != nil {
		panic("schema: " + err.Error()) // it is part of the program
	}
	return c
})

// Names are those of the JSON Schemas, in order: nouns such as event, and createConversation.params
// and .result for each method.
func Names() []string { return slices.Sorted(maps.Keys(loaded().Names)) }

// Lookup gives the JSON Schema (2020-12) of a name, complete in itself; false when there is none.
func Lookup(name string) ([]byte, bool) {
	c := loaded()
	definition, ok := c.Definitions[c.Names[name]]
	if !ok {
		return nil, false
	}
	others := map[string]json.RawMessage{}
	c.collect(definition, others)
	head := fmt.Sprintf(`{"$schema":%q,"$id":%q,`, c.Version, c.ID+":"+name)
	text := slices.Concat([]byte(head), bytes.TrimPrefix(definition, []byte{'{'}))
	if len(others) > 0 { // of which the definition may be one
		text = slices.Concat(bytes.TrimSuffix(text, []byte{'}'}), []byte(`,"$defs":`), encode(others), []byte{'}'})
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		panic("schema: " + err.Error()) // it is part of the program
	}
	out.WriteByte('\n')
	return out.Bytes(), true
}

// collect adds the definitions that a schema refers to, and those that these refer to.
func (c collection) collect(schema json.RawMessage, into map[string]json.RawMessage) {
	for _, part := range bytes.Split(schema, []byte(`"#/$defs/`))[1:] {
		name, _, _ := strings.Cut(string(part), `"`)
		if _, ok := into[name]; !ok {
			into[name] = c.Definitions[name]
			c.collect(into[name], into)
		}
	}
}

func encode(definitions map[string]json.RawMessage) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(definitions); err != nil {
		panic("schema: " + err.Error()) // they were decoded before
	}
	return bytes.TrimSpace(b.Bytes())
}
