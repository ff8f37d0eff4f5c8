package agent

import (
	"encoding/json"
	"fmt"
	"strings"
)

// template is a user_template: {name} is replaced by a parameter, {{ and }} are braces. There is no
// other syntax.
type template struct{ parts []part }

// part is text, or the name of a parameter.
type part struct {
	text string
	name bool
}

func parseTemplate(text string) (*template, error) {
	t := &template{}
	var plain strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		double := i+1 < len(text) && text[i+1] == c
		switch {
		case (c == '{' || c == '}') && double:
			plain.WriteByte(c)
			i++
		case c == '}':
			return nil, fmt.Errorf("unmatched } at byte %d: write }} for a brace", i)
		case c == '{':
			name, _, found := strings.Cut(text[i+1:], "}")
			if !found || name == "" || strings.ContainsAny(name, "{ \t\n") {
				return nil, fmt.Errorf("invalid parameter at byte %d: expected {name}, or {{ for a brace", i)
			}
			t.parts = append(t.parts, part{text: plain.String()}, part{text: name, name: true})
			plain.Reset()
			i += len(name) + 1
		default:
			plain.WriteByte(c)
		}
	}
	t.parts = append(t.parts, part{text: plain.String()})
	return t, nil
}

// fill returns the text with the parameters: strings as they are, other values as JSON. Both are
// escaped, so that they cannot contain marks.
func (t *template) fill(parameters json.RawMessage) (string, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(parameters, &values); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range t.parts {
		if !p.name {
			b.WriteString(p.text)
			continue
		}
		raw, ok := values[p.text]
		if !ok {
			return "", fmt.Errorf("user_template needs the parameter %q, which is missing", p.text)
		}
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		b.WriteString(escape(text))
	}
	return b.String(), nil
}
