package llm

import (
	"encoding/json"
	"slices"
	"strings"
)

// strictSchema gives a copy of a schema that a vendor can hold a model to, or false where there is none: the root is an object, every object takes no other properties and requires all that
// it has, and there are only keywords that the vendor takes. Where additionalProperties is absent the copy has false: whatever matches the copy matches the schema. A schema with properties
// that may be left out has no such copy, for the model would have to make them up.
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

// The keywords of strict schemas besides those with schemas inside: of all vendors, and of OpenAI besides.
var (
	strictKeywords = []string{"type", "required", "additionalProperties", "description", "title", "$schema"}
	openAIKeywords = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems",
		"maxItems"}
	strictFormats = []any{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)

// stricter makes schemas strict.
type stricter struct {
	wide bool // there are openAIKeywords, pattern, and schemas that name themselves
	// defined counts the definitions that it is within.
	defined int
}

// strict makes a schema strict where it stands, and reports whether it could be.
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
	case "pattern": // no vendor looks around
		text, ok := v.(string)
		return ok && c.wide && !strings.Contains(text, "(?")
	case "$ref":
		return c.ref(v)
	}
	return slices.Contains(strictKeywords, name) || c.wide && slices.Contains(openAIKeywords, name)
}

// ref takes what names a definition. Not every vendor takes one within a definition, which may come round to itself.
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

// isObject reports whether a schema is one of objects.
func isObject(s *ordered) bool { return isType(s, "object") || s.has("properties") }

func isType(s *ordered, name string) bool {
	if types, ok := s.get("type").([]any); ok {
		return slices.Contains(types, any(name))
	}
	return s.get("type") == any(name)
}
