package selector

import (
	"fmt"
	"strings"
)

// whyMatched returns why selector i matches an event.
func (s *Set) whyMatched(i int, e *Event) string {
	sel := &s.Subscriptions.Selectors[i]
	var parts []string
	if sel.SchemaName != "" {
		parts = append(parts, "its schema is "+show(sel.SchemaName))
	}
	for _, tag := range sel.AnyTags {
		if e.has(tag) {
			parts = append(parts, "it has the tag "+show(tag))
			break
		}
	}
	switch len(sel.AllTags) {
	case 0:
	case 1:
		parts = append(parts, "it has the tag "+show(sel.AllTags[0]))
	default:
		parts = append(parts, fmt.Sprintf("it has all %d tags", len(sel.AllTags)))
	}
	switch n := len(s.conditions[i]); n {
	case 0:
	case 1:
		parts = append(parts, "its data meets the condition")
	default:
		parts = append(parts, fmt.Sprintf("its data meets all %d conditions", n))
	}
	switch n := len(parts); n {
	case 0:
		return "the selector takes every note and message"
	case 1:
		return parts[0]
	default:
		return strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
}

// because returns why selector i does not match an event.
func (s *Set) because(i int, e *Event, v verdict) string {
	switch v.failed {
	case failedSelector:
		return "there is no such selector"
	case failedType:
		return "it is a trace, and selectors look at notes and messages"
	}
	sel := &s.Subscriptions.Selectors[i]
	switch v.failed {
	case failedSchema:
		if e.Schema == "" {
			return fmt.Sprintf("it has no schema, but %s is required", show(sel.SchemaName))
		}
		return fmt.Sprintf("its schema is %s, but %s is required", show(e.Schema), show(sel.SchemaName))
	case failedAnyTags:
		if len(sel.AnyTags) == 0 {
			return "any_tags is empty, and an empty list matches nothing"
		}
		return "it has none of the tags " + show(strings.Join(sel.AnyTags, ", "))
	case failedAllTags:
		return "it lacks the tag " + show(sel.AllTags[v.which])
	}
	return s.conditions[i][v.which].because(v.outcome)
}
