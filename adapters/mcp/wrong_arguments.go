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

// tellArguments says in the words of this adapter what the library has found wrong with the arguments of a tool, before the tool was called.
func (s *Server) tellArguments(name string, r *protocol.CallToolResult) {
	schema, err := s.arguments[name], r.GetError()
	if schema == nil || err == nil || errors.As(err, new(*failure)) {
		return
	}
	r.Content = nil
	r.SetError(&failure{parley.ErrValidationFailed, wrongArguments(name, schema, err.Error())})
}

// maxFoundChars bounds each end of what the library says: it quotes what was given, and says how long it is at the end.
const maxFoundChars = 120

// wrongArguments gives the reason, which argument is wrong, what it may be, and the next call. found is what the library says, with the path of the schema that is not met:
// validating "arguments": validating root: validating /properties/until: enum: noon does not equal any of: [my_turn message any closed]
func wrongArguments(tool string, schema *jsonschema.Schema, found string) string {
	found = strings.TrimPrefix(found, `validating "arguments": `)
	at, root := "", schema
	for {
		rest, ok := strings.CutPrefix(found, "validating ")
		path, rest, isPath := strings.Cut(rest, ": ")
		if !ok || !isPath || path != "root" && !strings.HasPrefix(path, "/") {
			break
		}
		schema, at = below(root, path)
		found = rest
	}
	found = strings.ReplaceAll(found, nullFound, "null is not accepted")
	text := fmt.Sprintf("%v: %s: %s.", parley.ErrValidationFailed, cmp.Or(at, "arguments"), bothEnds(found, maxFoundChars))
	if want := expected(schema); want != "" {
		text += " Expected: " + want + "."
	}
	return text + fmt.Sprintf("\nNothing was done. Next: the same call of %s with arguments that match.", tool)
}

// nullFound is how the library describes a null that a schema refuses.
const nullFound = `type: <invalid reflect.Value> has type "null"`

// below gives the schema at a path below another, and the argument that it is of.
func below(schema *jsonschema.Schema, path string) (_ *jsonschema.Schema, argument string) {
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

// expected says what a schema takes.
func expected(s *jsonschema.Schema) string {
	switch {
	case s == nil:
		return ""
	case len(s.Enum) > 0:
		return fmt.Sprintf("one of %s", joined(s.Enum))
	case s.Type == "object" && len(s.Properties) > 0:
		return "the arguments " + strings.Join(argumentNames(s), ", ")
	case s.Type == "string" && s.MaxLength != nil:
		least := 0
		if s.MinLength != nil {
			least = *s.MinLength
		}
		return fmt.Sprintf("a text of %d to %d characters", least, *s.MaxLength)
	case s.Type == "array" && s.MinItems != nil && s.MaxItems != nil:
		return fmt.Sprintf("a list of %d to %d", *s.MinItems, *s.MaxItems)
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf("a number from %v to %v", *s.Minimum, *s.Maximum)
	case s.Minimum != nil:
		return fmt.Sprintf("a number from %v on", *s.Minimum)
	}
	return s.Type
}

// argumentNames are those of an object in their order, and whether each must be there.
func argumentNames(s *jsonschema.Schema) (names []string) {
	for _, name := range s.PropertyOrder {
		if slices.Contains(s.Required, name) {
			name += " (required)"
		}
		names = append(names, name)
	}
	return names
}

func joined(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, ", ")
}

// bothEnds cuts out the middle of a text.
func bothEnds(s string, chars int) string {
	n := utf8.RuneCountInString(s)
	if n <= 2*chars {
		return s
	}
	runes := []rune(s)
	return fmt.Sprintf("%s[... %d more characters ...]%s", string(runes[:chars]), n-2*chars, string(runes[n-chars:]))
}
