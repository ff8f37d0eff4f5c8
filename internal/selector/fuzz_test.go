package selector_test

import (
	"encoding/json"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/selector"
)

// FuzzParse compiles random text: the result is either triggers or faults.
func FuzzParse(f *testing.F) {
	for _, c := range table {
		f.Add("[" + c.selector + "]")
	}
	f.Add("[" + when(is("$[?match(@.a,'[^x]{3}')]", "exists", "")) + "]")
	f.Add("[" + when(is("$[?value(@..a) == -1e5 || !(length(@) < 2)]['\\u00fc',::-1]", "exists", "")) + "]")
	f.Fuzz(func(t *testing.T, raw string) {
		set, faults := selector.Compile(json.RawMessage(raw))
		if (set == nil) != (len(faults) > 0) {
			t.Fatalf("%v and %v", set, faults)
		}
	})
}

// FuzzMatch matches data: Matches, Why, Wakes and the index agree, and Apply returns valid JSON.
func FuzzMatch(f *testing.F) {
	for _, c := range table {
		e := eventOf(c.event)
		f.Add("["+c.selector+"]", e.Schema, "x", string(e.Data))
	}
	f.Add(`[{"llm_hints":{"include":["a.b"],"exclude":["a.b.c"],"template":"{{a}}"}}]`, "", "", `{"a":[{"b":{"c":1}}]}`)
	f.Fuzz(func(t *testing.T, raw, schema, tag, data string) {
		set, faults := selector.Compile(json.RawMessage(raw))
		if len(faults) > 0 {
			return
		}
		event := func() *selector.Event {
			return &selector.Event{Type: parley.TypeMessage, Schema: schema, Tags: []string{tag}, Data: json.RawMessage(data)}
		}
		e := event()
		first := map[bool]int{false: -1, true: -1}
		for i := range set.Subscriptions.Selectors {
			matched := set.Matches(i, e)
			if again := set.Matches(i, event()); again != matched {
				t.Fatalf("%d matches %v, and of an event that is new %v", i, matched, again)
			}
			if why, because := set.Why(i, e); why != matched || because == "" {
				t.Fatalf("%d matches %v, and why says %v: %q", i, matched, why, because)
			}
			sel := &set.Subscriptions.Selectors[i]
			if matched && sel.Trigger() && first[sel.Workspace()] < 0 {
				first[sel.Workspace()] = i
			}
			applied, err := set.Apply(i, json.RawMessage(data))
			if err == nil && json.Valid([]byte(data)) && !json.Valid(applied) {
				t.Fatalf("%s becomes %s", data, applied)
			}
		}
		for workspace, want := range first {
			if got := set.Wakes(e, workspace); got != want {
				t.Fatalf("wakes %d, expected %d", got, want)
			}
		}
		var x selector.Index[int]
		x.Put(1, set)
		hits, more := x.Match(e, -1)
		if found := len(hits) == 1 && hits[0].Selector == first[true]; found != (first[true] >= 0) || more != 0 {
			t.Fatalf("the index gives %v and %d more, expected %d", hits, more, first[true])
		}
	})
}
