package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
)

// explainArguments replaces an argument error of the library by one in the words of this adapter.
func (s *Server) explainArguments(name string, r *protocol.CallToolResult) {
	schema, err := s.arguments[name], r.GetError()
	if schema == nil || err == nil || errors.As(err, new(*failure)) {
		return
	}
	r.Content = nil
	r.SetError(&failure{parley.ErrValidationFailed, wrongArguments(name, schema, err.Error())})
}

// maxFoundChars limits each end of an error of the library, which quotes the value and has the
// expected length at its end.
const maxFoundChars = 120

// wrongArguments returns the reason, the invalid argument, the expected value and the next call.
// found is the error of the library, with the path of the schema that was not met:
//
//	validating "arguments": validating root: validating /properties/until:
//	enum: noon does not equal any of: [my_turn message any closed]
func wrongArguments(tool string, schema *jsonschema.Schema, found string) string {
	found = strings.TrimPrefix(found, `validating "arguments": `)
	at, root := "", schema
	for {
		rest, ok := strings.CutPrefix(found, "validating ")
		path, rest, isPath := strings.Cut(rest, ": ")
		if !ok || !isPath || path != "root" && !strings.HasPrefix(path, "/") {
			break
		}
		schema, at = schemaAt(root, path)
		found = rest
	}
	found = strings.ReplaceAll(found, nullFound, "null is not accepted")
	text := fmt.Sprintf("%v: %s: %s.", parley.ErrValidationFailed, cmp.Or(at, "arguments"),
		cutMiddle(found, maxFoundChars))
	if want := expectedValue(schema); want != "" {
		text += " Expected: " + want + "."
	}
	return text + fmt.Sprintf("\nThe call had no effect. Next: call %s again with valid arguments.", tool)
}

// nullFound is how the library describes a null that a schema refuses.
const nullFound = `type: <invalid reflect.Value> has type "null"`

// schemaAt returns the schema at a path below another, and the name of its argument.
func schemaAt(schema *jsonschema.Schema, path string) (_ *jsonschema.Schema, argument string) {
	steps := strings.Split(path, "/")
	var names []string
	for i := 0; i < len(steps) && schema != nil; i++ {
		switch {
		case steps[i] == "properties" && i+1 < len(steps):
			i++
			schema, names = schema.Properties[steps[i]], append(names, steps[i])
		case steps[i] == "items":
			schema = schema.Items
		}
	}
	return schema, strings.Join(names, ".")
}

// expectedValue describes the values that a schema accepts.
func expectedValue(s *jsonschema.Schema) string {
	switch {
	case s == nil:
		return ""
	case len(s.Enum) > 0:
		return fmt.Sprintf("one of %s", joinValues(s.Enum))
	case s.Type == "object" && len(s.Properties) > 0:
		return "the arguments " + strings.Join(argumentNames(s), ", ")
	case s.Type == "string" && s.MaxLength != nil:
		least := 0
		if s.MinLength != nil {
			least = *s.MinLength
		}
		return fmt.Sprintf("text of %d to %d characters", least, *s.MaxLength)
	case s.Type == "array" && s.MinItems != nil && s.MaxItems != nil:
		return fmt.Sprintf("a list of %d to %d items", *s.MinItems, *s.MaxItems)
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf("a number from %v to %v", *s.Minimum, *s.Maximum)
	case s.Minimum != nil:
		return fmt.Sprintf("a number of at least %v", *s.Minimum)
	}
	return s.Type
}

// argumentNames returns the arguments of an object in order, and marks those that are required.
func argumentNames(s *jsonschema.Schema) (names []string) {
	for _, name := range s.PropertyOrder {
		if slices.Contains(s.Required, name) {
			name += " (required)"
		}
		names = append(names, name)
	}
	return names
}

func joinValues(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, ", ")
}

// cutMiddle removes the middle of a long text.
func cutMiddle(s string, chars int) string {
	n := utf8.RuneCountInString(s)
	if n <= 2*chars {
		return s
	}
	runes := []rune(s)
	return fmt.Sprintf("%s[... %d more characters ...]%s", string(runes[:chars]), n-2*chars, string(runes[n-chars:]))
}
