package telemetrytest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Tree formats spans as one tree below a traceparent, with one line per span and its attributes
// below it. Siblings are ordered by the events that they wrote, otherwise by their start. The test
// fails if a span has no parent in the tree, an id occurs twice, or a span belongs to another
// trace.
//
// tidy, if not nil, returns the value of an attribute to print, or "" to leave it out.
func Tree(t testing.TB, spans []Span, root string, tidy func(key, value string) string) string {
	t.Helper()
	below := map[string][]Span{}
	known := map[string]bool{root[36:52]: true}
	for _, s := range spans {
		if known[s.ID] {
			t.Errorf("two spans have the id %s, one of them %q", s.ID, s.Name)
		}
		known[s.ID] = true
		below[s.Parent] = append(below[s.Parent], s)
	}
	for _, s := range spans {
		if s.TraceID != root[3:35] || !known[s.Parent] {
			t.Errorf("%q of trace %s is below %q, which was not exported", s.Name, s.TraceID, s.Parent)
		}
	}
	var b strings.Builder
	write(&b, below, root[36:52], "", tidy)
	return b.String()
}

func write(b *strings.Builder, below map[string][]Span, parent, indent string, tidy func(key, value string) string) {
	children := below[parent]
	slices.SortStableFunc(children, func(a, b Span) int {
		return cmp.Or(cmp.Compare(seq(a), seq(b)), a.Start.Compare(b.Start), cmp.Compare(a.Name, b.Name))
	})
	for _, s := range children {
		failed := ""
		if s.Failed {
			failed = " FAILED"
		}
		fmt.Fprintf(b, "%s%s [%s, %s]%s\n", indent, s.Name, s.Kind, s.Service, failed)
		for _, key := range slices.Sorted(maps.Keys(s.Attributes)) {
			value := fmt.Sprint(s.Attributes[key])
			if tidy != nil {
				value = tidy(key, value)
			}
			if value != "" {
				fmt.Fprintf(b, "%s  . %s = %s\n", indent, key, value)
			}
		}
		write(b, below, s.ID, indent+"  ", tidy)
	}
}

// seq returns the event that a span wrote, or the turn of the span.
func seq(s Span) int64 {
	for _, key := range []string{"parley.event.seq", "parley.turn.number"} {
		if n, ok := s.Attributes[key].(int64); ok {
			return n
		}
	}
	return 0
}
