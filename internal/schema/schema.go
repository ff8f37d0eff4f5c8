// Package schema holds the published documents of the protocol: OpenRPC, AsyncAPI, and a JSON
// Schema for each value of the protocol. Package generate creates them, and the tests of package
// rpc compare them with the code:
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

// The documents in the form in which the hub serves them.
var (
	//go:embed documents/openrpc.json
	OpenRPC []byte
	//go:embed documents/asyncapi.json
	AsyncAPI []byte

	//go:embed documents/schemas.json
	all []byte
)

// collection is the content of the file with all schemas.
type collection struct {
	Version     string                     `json:"$schema"`
	ID          string                     `json:"$id"`
	Names       map[string]string          `json:"x-names"`
	Definitions map[string]json.RawMessage `json:"$defs"`
}

var loaded = sync.OnceValue(func() collection {
	var c collection
	if err := json.Unmarshal(all, &c); err != nil {
		panic("schema: " + err.Error()) // it is embedded in the program
	}
	return c
})

// Names returns the names of the JSON Schemas in order: nouns such as event, and
// createConversation.params and .result for each method.
func Names() []string { return slices.Sorted(maps.Keys(loaded().Names)) }

// Lookup returns the JSON Schema (2020-12) of a name, with all schemas that it refers to. It
// returns false for an unknown name.
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
	if len(others) > 0 { // these can include the definition itself
		text = slices.Concat(bytes.TrimSuffix(text, []byte{'}'}), []byte(`,"$defs":`), encode(others), []byte{'}'})
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		panic("schema: " + err.Error()) // it is embedded in the program
	}
	out.WriteByte('\n')
	return out.Bytes(), true
}

// collect adds the definitions that a schema refers to, directly or indirectly.
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
		panic("schema: " + err.Error()) // the values come from JSON
	}
	return bytes.TrimSpace(b.Bytes())
}
