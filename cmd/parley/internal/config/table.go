package config

import (
	"fmt"
	"strings"
)

// Table returns the table of settings in Markdown, a part of docs/reference/configuration.md. Only the test
// of that page calls it.
func Table() string {
	var b strings.Builder
	b.WriteString("| in the file | flag | environment | type | default | what |\n|---|---|---|---|---|---|\n")
	for _, s := range Settings {
		fmt.Fprintf(&b, "| `%s` | `--%s` | `%s` | %s | %s | %s |\n", s.Name, s.Flag, s.Env, s.values(), s.Default(), s.Doc)
	}
	return b.String()
}

// values describes the valid values.
func (s Setting) values() string {
	r := s.rule
	switch {
	case s.list() && len(r.choices) > 0:
		return "list of: " + strings.Join(r.choices, ", ")
	case len(r.choices) > 0:
		return strings.Join(r.choices, ", ")
	case r.most > 0:
		return fmt.Sprintf("%s, %s to %s", s.kind(), decimal(r.least), decimal(r.most))
	case s.list():
		return "list of: " + r.expected
	case s.kind() == "boolean":
		return "true, false"
	}
	return r.expected
}
