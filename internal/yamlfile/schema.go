package yamlfile

import (
	"bytes"
	"encoding/json"
)

// Object is a JSON object of a schema. It is encoded with sorted keys.
type Object map[string]any

// Closed returns the schema of an object with exactly these members.
func Closed(properties Object) Object {
	return Object{"type": "object", "properties": properties, "additionalProperties": false}
}

// EncodeSchema encodes a JSON Schema (draft 7) for publication.
func EncodeSchema(root Object) []byte {
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		panic(err) // strings and numbers only
	}
	return b.Bytes()
}
