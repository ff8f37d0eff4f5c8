package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// paramTypes says of which types a value may be, as far as its JSON Schema tells: the text of a --param is read by it. It never refuses anything: that is the
// hub's, which knows the schema whole.
type paramTypes struct {
	root  any // the whole schema, for what it refers to
	found []map[string]any
}

// maxSchemaSteps bounds how many schemas are looked at for one value: they may refer to each other.
const maxSchemaSteps = 64

// readTypes reads a schema; one that is absent, or none, tells nothing.
func readTypes(schema json.RawMessage) *paramTypes {
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var root any
	if dec.Decode(&root) != nil {
		root = nil
	}
	return (&paramTypes{root: root}).at(root)
}

// at gives the types of what schemas describe, with all that they refer to.
func (t *paramTypes) at(schemas ...any) *paramTypes {
	out := &paramTypes{root: t.root}
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
func (t *paramTypes) resolve(ref string) any {
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

// of gives the types of a property.
func (t *paramTypes) of(name string) *paramTypes {
	var schemas []any
	for _, s := range t.found {
		if properties, ok := s["properties"].(map[string]any); ok && properties[name] != nil {
			schemas = append(schemas, properties[name])
		}
	}
	return t.at(schemas...)
}

// items gives the types of what is in a list.
func (t *paramTypes) items() *paramTypes {
	var schemas []any
	for _, s := range t.found {
		if s["items"] != nil {
			schemas = append(schemas, s["items"])
		}
	}
	return t.at(schemas...)
}

// has reports whether a value may be of a type. Nothing is said of one without a type.
func (t *paramTypes) has(kind string) bool {
	for _, s := range t.found {
		if slices.Contains(namedTypes(s), kind) {
			return true
		}
	}
	return false
}

// known reports whether any type is named.
func (t *paramTypes) known() bool {
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

// value reads the one text that was given for a value: where that may be a list, and nothing like the text, it is a list of it.
func (t *paramTypes) value(p param) json.RawMessage {
	v := t.scalar(p)
	if p.json || !t.has("array") || t.takes(v) {
		return v
	}
	return listOf([]json.RawMessage{t.items().scalar(p)})
}

// takes reports whether a value is of a type that is named.
func (t *paramTypes) takes(v json.RawMessage) bool {
	switch v[0] {
	case '"':
		return t.has("string")
	case '{':
		return t.has("object")
	case '[':
		return t.has("array")
	case 't', 'f':
		return t.has("boolean")
	case 'n':
		return t.has("null")
	}
	return t.has("number") || t.has("integer")
}

// scalar reads a text: as it is where it may be a string or nothing is known, else as JSON. What is no JSON stays a string, and the hub says what was expected.
func (t *paramTypes) scalar(p param) json.RawMessage {
	text := strings.TrimSpace(p.text)
	if p.json || t.known() && !t.has("string") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := encodePlain(p.text) // a string
	return quoted
}
