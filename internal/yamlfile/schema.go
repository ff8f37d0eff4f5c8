package yamlfile

import (
	"bytes"
	"encoding/json"
)

// Object is a JSON object of a Schema. It is written with its keys in the order of the alphabet.
type Object map[string]any

// Closed is the Schema of an object with these members and no other.
func Closed(properties Object) Object {
	return Object{"type": "object", "properties": properties, "additionalProperties": false}
}

// EncodeSchema writes a JSON Schema (draft 7), as it is published.
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
