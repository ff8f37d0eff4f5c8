package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// template is a user_template: text in which {name} is replaced by a variable, {{ by { and }} by }.
// There is no other syntax.
type template struct{ parts []templatePart }

type templatePart struct {
	text     string
	variable string // empty for text
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)

func parseTemplate(s string) (*template, error) {
	t := &template{}
	var text strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '{' && s[i] != '}':
			text.WriteByte(s[i])
		case i+1 < len(s) && s[i+1] == s[i]:
			text.WriteByte(s[i])
			i++
		case s[i] == '}':
			return nil, fmt.Errorf("user_template: unmatched } at byte %d: write }} for a brace", i)
		default:
			name, _, closed := strings.Cut(s[i+1:], "}")
			if !closed || !variableName.MatchString(name) {
				return nil, fmt.Errorf("user_template: invalid variable at byte %d: expected {name}, or {{ for a brace", i)
			}
			t.parts = append(t.parts, templatePart{text: text.String()}, templatePart{variable: name})
			text.Reset()
			i += len(name) + 1
		}
	}
	t.parts = append(t.parts, templatePart{text: text.String()})
	return t, nil
}

func (t *template) render(variables map[string]any) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.variable == "" {
			b.WriteString(p.text)
			continue
		}
		v, ok := variables[p.variable]
		if !ok {
			return "", fmt.Errorf("user_template: unknown variable %q: expected one of %q", p.variable,
				slices.Sorted(maps.Keys(variables)))
		}
		s, err := formatVariable(v)
		if err != nil {
			return "", fmt.Errorf("user_template: variable %q: %w", p.variable, err)
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// formatVariable returns a string as it is, and any other value as JSON.
func formatVariable(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.RawMessage:
		return formatRaw(v)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// formatRaw returns the content of a JSON string, and other JSON as it is.
func formatRaw(raw json.RawMessage) (string, error) {
	if !json.Valid(raw) {
		return "", fmt.Errorf("expected JSON")
	}
	var s string
	if json.Unmarshal(raw, &s) == nil && !bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return s, nil
	}
	return string(bytes.TrimSpace(raw)), nil
}
