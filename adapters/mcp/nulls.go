package mcp

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// withoutNulls returns the arguments of a tool without the optional ones that are null: models and
// clients write null for an argument that they leave out. A null that the schema accepts stays, and so
// does a null for a required argument, which the schema refuses.
func withoutNulls(args json.RawMessage, schema *jsonschema.Schema) json.RawMessage {
	if string(args) == "null" {
		return nil // the library would panic
	}
	if schema == nil || !bytes.Contains(args, []byte("null")) {
		return args
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil || d.More() || !removeNulls(value, schema) {
		return args // the library states what is wrong with arguments that are not JSON
	}
	text, err := json.Marshal(value)
	if err != nil {
		return args
	}
	return text
}

// removeNulls removes the optional nulls from a value of a schema, and reports whether there were any.
func removeNulls(value any, schema *jsonschema.Schema) (removed bool) {
	if schema == nil {
		return false
	}
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			s := schema.Properties[name]
			if member == nil && s != nil && !acceptsNull(s) && !slices.Contains(schema.Required, name) {
				delete(value, name)
				removed = true
			} else if removeNulls(member, s) {
				removed = true
			}
		}
	case []any:
		for _, item := range value {
			removed = removeNulls(item, schema.Items) || removed
		}
	}
	return removed
}

// acceptsNull reports whether the schema of an argument accepts null.
func acceptsNull(s *jsonschema.Schema) bool {
	return s.Type == "" && len(s.Types) == 0 && len(s.AnyOf) == 0 || s.Type == "null" || slices.Contains(s.Types, "null") ||
		slices.ContainsFunc(s.AnyOf, acceptsNull)
}
