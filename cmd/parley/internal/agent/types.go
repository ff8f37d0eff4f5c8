package agent

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// valueTypes are the possible types of a value, as far as its JSON Schema names them. They decide
// how the text of a --param is read, and never refuse anything: the hub validates with the whole
// schema.
type valueTypes struct {
	root  any // the whole schema, for what it refers to
	found []map[string]any
}

// maxSchemaSteps bounds how many schemas are looked at for one value: they may refer to each other.
const maxSchemaSteps = 64

// readTypes reads a schema. A missing or invalid schema names no types.
func readTypes(schema json.RawMessage) *valueTypes {
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var root any
	if dec.Decode(&root) != nil {
		root = nil
	}
	return (&valueTypes{root: root}).collect(root)
}

// collect returns the types of the values of schemas, and of everything that they refer to.
func (t *valueTypes) collect(schemas ...any) *valueTypes {
	out := &valueTypes{root: t.root}
	seen := map[uintptr]bool{}
	for len(schemas) > 0 && len(out.found) < maxSchemaSteps {
		s, ok := schemas[0].(map[string]any)
		schemas = schemas[1:]
		itself := reflect.ValueOf(s).Pointer()
		if !ok || seen[itself] {
			continue
		}
		seen[itself] = true
		out.found = append(out.found, s)
		for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
			more, _ := s[keyword].([]any)
			schemas = append(schemas, more...)
		}
		if ref, ok := s["$ref"].(string); ok {
			schemas = append(schemas, t.resolve(ref))
		}
	}
	return out
}

// resolve follows a reference into the same schema.
func (t *valueTypes) resolve(ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := t.root
	for _, step := range strings.Split(path, "/")[1:] {
		object, _ := at.(map[string]any)
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return at
}

// ofProperty returns the types of a property.
func (t *valueTypes) ofProperty(name string) *valueTypes {
	var schemas []any
	for _, s := range t.found {
		if properties, ok := s["properties"].(map[string]any); ok && properties[name] != nil {
			schemas = append(schemas, properties[name])
		}
	}
	return t.collect(schemas...)
}

// ofItems returns the types of the items of a list.
func (t *valueTypes) ofItems() *valueTypes {
	var schemas []any
	for _, s := range t.found {
		if s["items"] != nil {
			schemas = append(schemas, s["items"])
		}
	}
	return t.collect(schemas...)
}

// allows reports whether a value may be of a type. Nothing is said of one without a type.
func (t *valueTypes) allows(kind string) bool {
	for _, s := range t.found {
		if slices.Contains(namedTypes(s), kind) {
			return true
		}
	}
	return false
}

// isKnown reports whether any type is named.
func (t *valueTypes) isKnown() bool {
	return slices.ContainsFunc(t.found, func(s map[string]any) bool { return len(namedTypes(s)) > 0 })
}

// namedTypes are those that one schema names itself, or those of the values that it lists.
func namedTypes(s map[string]any) (types []string) {
	switch kind := s["type"].(type) {
	case string:
		return []string{kind}
	case []any:
		for _, k := range kind {
			if k, ok := k.(string); ok {
				types = append(types, k)
			}
		}
		return types
	}
	values, _ := s["enum"].([]any)
	if v, ok := s["const"]; ok {
		values = append(values, v)
	}
	for _, v := range values {
		types = append(types, jsonType(v))
	}
	return types
}

// jsonType names the type of a value.
func jsonType(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case []any:
		return "array"
	case nil:
		return "null"
	}
	return "object"
}

// encode reads the one text that was given for a value: where that may be a list, and nothing like
// the text, it is a list of it.
func (t *valueTypes) encode(p Parameter) json.RawMessage {
	v := t.encodeScalar(p)
	if p.json || !t.allows("array") || t.accepts(v) {
		return v
	}
	return cli.JoinJSON([]json.RawMessage{t.ofItems().encodeScalar(p)})
}

// accepts reports whether a value is of a type that is named.
func (t *valueTypes) accepts(v json.RawMessage) bool {
	switch v[0] {
	case '"':
		return t.allows("string")
	case '{':
		return t.allows("object")
	case '[':
		return t.allows("array")
	case 't', 'f':
		return t.allows("boolean")
	case 'n':
		return t.allows("null")
	}
	return t.allows("number") || t.allows("integer")
}

// encodeScalar encodes a text as a string if it may be a string or no type is known, and otherwise
// as JSON. A text that is not JSON stays a string, and the hub reports what it expected.
func (t *valueTypes) encodeScalar(p Parameter) json.RawMessage {
	text := strings.TrimSpace(p.text)
	if p.json || t.isKnown() && !t.allows("string") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := cli.EncodeJSON(p.text) // a string
	return quoted
}
