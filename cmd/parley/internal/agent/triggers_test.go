package agent

import (
	"testing"

	"github.com/parleyhub/parley"
)

// TestSelectorsInALine: what a selector is for and what it matches.
func TestSelectorsInALine(t *testing.T) {
	t.Parallel()
	for _, row := range [][2]string{
		{`[{"schema_name":"a.v1","all_tags":["x","y"]}]`,
			"wakes on a.v1, with all of the tags x y"},
		{`[{"any_tags":[]}]`,
			"wakes on anything, with any of the tags (none: nothing has one)"},
		{`[{"context_match":[{"path":"$.n","op":"exists"}],"scope":"workspace"}]`,
			"wakes on anything, $.n exists, in the workspace"},
		{`[{"schema_name":"a.v1","role":"context","fetch":{"method":"vector","nn":3},"key":"near"}]`,
			"context near: the 3 most alike of a.v1"},
		{`[{"schema_name":"a.v1","role":"context","fetch":"recent","limit":4,"scope":"workspace","key":"history"}]`,
			"context history: the last 4 of a.v1, in the workspace"},
	} {
		raw, want := row[0], row[1]
		s, faults := parley.ParseSubscriptions([]byte(raw))
		if len(faults) > 0 {
			t.Fatalf("%s: %v", raw, faults)
		}
		if got := selectorText(&s.Selectors[0]); got != want {
			t.Errorf("%s: %q, expected %q", raw, got, want)
		}
	}
}
