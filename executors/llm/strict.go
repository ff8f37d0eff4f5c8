package llm

import (
	"encoding/json"
	"slices"
	"strings"
)

// strictSchema returns a copy of a schema that the vendor can enforce, and false if there is none.
// In the copy, the root is an object, every object requires all its properties and allows no
// others, and all keywords are supported by the vendor. A missing additionalProperties becomes
// false, so every value that matches the copy also matches the schema. A schema with optional
// properties has no such copy, because the model would have to invent values for them.
func strictSchema(raw json.RawMessage, set SchemaSet) (json.RawMessage, bool) {
	v, err := parseOrdered(raw)
	root, ok := v.(*ordered)
	s := &stricter{wide: set == SchemasOpenAI}
	if err != nil || !ok || root.get("type") != any("object") || root.has("anyOf") || root.has("$ref") || !s.strict(root) {
		return nil, false
	}
	out, err := json.Marshal(root)
	return out, err == nil
}

// The keywords of strict schemas without nested schemas: those of all vendors, and the additional
// ones of OpenAI.
var (
	strictKeywords = []string{"type", "required", "additionalProperties", "description", "title", "$schema"}
	openAIKeywords = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems",
		"maxItems"}
	strictFormats = []any{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)

// stricter converts schemas to strict ones.
type stricter struct {
	wide bool // allow openAIKeywords, pattern and recursive schemas
	// defined is the nesting depth of definitions.
	defined int
}

// strict makes a schema strict in place, and reports whether that was possible.
func (c *stricter) strict(v any) bool {
	s, ok := v.(*ordered)
	if !ok || !slices.ContainsFunc([]string{"type", "$ref", "anyOf", "enum"}, s.has) {
		return false
	}
	for _, name := range s.names {
		if !c.keyword(name, s.get(name)) {
			return false
		}
	}
	if isType(s, "array") && !s.has("items") {
		return false
	}
	return !isObject(s) || strictObject(s)
}

func (c *stricter) keyword(name string, v any) bool {
	not := func(v any) bool { return !c.strict(v) }
	switch name {
	case "$defs", "definitions":
		c.defined++
		defer func() { c.defined-- }()
		return c.keyword("properties", v)
	case "properties":
		named, ok := v.(*ordered)
		return ok && !slices.ContainsFunc(named.names, func(n string) bool { return not(named.get(n)) })
	case "anyOf":
		list, ok := v.([]any)
		return ok && !slices.ContainsFunc(list, not)
	case "items":
		return c.strict(v)
	case "enum":
		list, ok := v.([]any)
		return ok && !slices.ContainsFunc(list, isCompound)
	case "const":
		return !isCompound(v)
	case "format":
		return slices.Contains(strictFormats, v)
	case "pattern": // no vendor supports lookaround
		text, ok := v.(string)
		return ok && c.wide && !strings.Contains(text, "(?")
	case "$ref":
		return c.ref(v)
	}
	return slices.Contains(strictKeywords, name) || c.wide && slices.Contains(openAIKeywords, name)
}

// ref reports whether a $ref is allowed. Not every vendor allows one within a definition, because
// it may be recursive.
func (c *stricter) ref(v any) bool {
	text, ok := v.(string)
	defined := strings.HasPrefix(text, "#/$defs/") || strings.HasPrefix(text, "#/definitions/")
	return ok && (c.wide && strings.HasPrefix(text, "#") || defined && c.defined == 0)
}

func isCompound(v any) bool {
	switch v.(type) {
	case *ordered, []any:
		return true
	}
	return false
}

func strictObject(s *ordered) bool {
	if s.has("additionalProperties") && s.get("additionalProperties") != any(false) {
		return false
	}
	properties, ok := s.get("properties").(*ordered)
	if !ok {
		properties = &ordered{}
	}
	required, ok := s.get("required").([]any)
	if !ok {
		required = []any{}
	}
	for _, name := range properties.names {
		if !slices.Contains(required, any(name)) {
			return false
		}
	}
	for _, name := range required {
		if n, ok := name.(string); !ok || !properties.has(n) {
			return false
		}
	}
	s.set("properties", properties)
	s.set("required", required)
	s.set("additionalProperties", false)
	return true
}

// isObject reports whether a schema describes objects.
func isObject(s *ordered) bool { return isType(s, "object") || s.has("properties") }

func isType(s *ordered, name string) bool {
	if types, ok := s.get("type").([]any); ok {
		return slices.Contains(types, any(name))
	}
	return s.get("type") == any(name)
}
