package selector_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/selector"
)

// faultsOf returns the faults as path: message.
func faultsOf(t testing.TB, raw string) (all []string) {
	t.Helper()
	set, faults := selector.Compile(json.RawMessage(raw))
	if (set == nil) != (len(faults) > 0) {
		t.Fatalf("%s: %v and %v", raw, set, faults)
	}
	for _, f := range faults {
		all = append(all, f.Path+": "+f.Message)
	}
	return all
}

// Invalid paths and paths that are too expensive are refused, with their place and the fault.
func TestPathFaults(t *testing.T) {
	const at = "$[0].context_match[0].path: expected a JSONPath of RFC 9535: "
	for path, want := range map[string]string{
		"$.":                      "unexpected",
		"$[":                      "unexpected",
		"$.a b":                   "unexpected",
		"$x":                      "unexpected",
		"$[?]":                    "unexpected",
		"$[?@.a = 1]":             "",
		"$[?@.a == ]":             "",
		"$[?f(@)]":                "unknown function f()",
		"$[?length(@)]":           "missing comparison",
		"$[?length(@.*) == 1]":    "function length() cannot convert argument to Value",
		"$['a]":                   "",
		"$[01]":                   "",
		"$[9007199254740992]":     "",
		"$.a..":                   "",
		"$[?@[?@[?@[?@.a]]]]":     "filters may be nested at most 3 deep",
		"$[?match(@.a, @.b)]":     "expected the pattern of match and search as a text in quotes",
		"$[?match(@.a, '(')]":     "error parsing regexp",
		"$[?match(@.a, '(?i)a')]": "pattern (?i)a has (?, which RFC 9485 does not know",
		"$[?search(@, 'x{999}')]": "pattern x{999} is too large",
		"$[?search(@, '" + strings.Repeat("x", 300) +
			"')]": "patterns have at most 256 bytes, and together 2048",
		"$[?" + strings.Repeat("(", 17) + "@.a" + strings.Repeat(")", 17) +
			"]": "parentheses and functions may be nested at most 16 deep",
		"$[?" + strings.Repeat("!(", 17) + "@.a" + strings.Repeat(")", 17) +
			"]": "parentheses and functions may be nested",
		"$[?value($[?count(@.*) == " + strings.Repeat("length(", 16) + "1" + strings.Repeat(")", 16) +
			"]) == 1]": "parentheses and functions may be nested",
	} {
		got := faultsOf(t, "["+when(is(path, "exists", ""))+"]")
		if len(got) != 1 || !strings.HasPrefix(got[0], at+want) {
			t.Errorf("%s: %q, expected one that begins with %q", path, got, want)
		}
	}
	for _, path := range []string{
		"$", "$ .a ['b']", "$.ü", `$["a\u00fc\ud83d\ude00\n\/"]`, "$['it\\'s']", "$[?@[?@[?@.a]]]",
		"$[?match(@.a, '[(?]+\\\\(?')]", "$[?!@.a && !(@.b || !match(@.c,'x'))]", "$[?-1.5e3 < @.a]", "$[ 1 : 2 : -1 , 'a' ]",
		"$[?true == @]", "$[?null != @]", "$.true", "$..[0]", "$..['a',*]",
	} {
		if got := faultsOf(t, "["+when(is(path, "exists", ""))+"]"); len(got) > 0 {
			t.Errorf("%s: %q", path, got)
		}
	}
}

// Faults of paths are reported with all other faults, ordered by place.
func TestAllFaultsAtOnce(t *testing.T) {
	for raw, want := range map[string][]string{
		`{"selectors":[{"context_match":[{"path":"$.","op":"exists"}]},{"context_match":[{"path":"$","op":"exists"},` +
			`{"path":"$[","op":"exists"}]}]}`: {
			"$.selectors[0].context_match[0].path", "$.selectors[1].context_match[1].path"},
		`{"selectors":[{"role":"x","context_match":[{"path":"$.","op":"exists"}]}]}`: {"$.selectors[0].role",
			"$.selectors[0].context_match[0].path"},
		`[{"context_match":[{"path":"$.","op":"like"},{"path":"a","op":"exists"},{"path":1}]},` +
			`{"context_match":1}]`: {"$[0].context_match[2].path", "$[1].context_match", "$[0].context_match[0].op",
			"$[0].context_match[1].path", "$[0].context_match[2].op", "$[0].context_match[0].path"},
	} {
		got := faultsOf(t, raw)
		if len(got) != len(want) {
			t.Errorf("%s: %q", raw, got)
			continue
		}
		for i := range want {
			if !strings.HasPrefix(got[i], want[i]+": ") {
				t.Errorf("%s: %q, expected %s", raw, got[i], want[i])
			}
		}
	}
}

// The first matching trigger counts, a context selector hides none, and each scope has its own
// triggers.
func TestFirstTrigger(t *testing.T) {
	set := compile(t, `{"selectors":[{"role":"context","schema_name":"a.v1"},{"schema_name":"a.v1","all_tags":["x"]},`+
		`{"schema_name":"a.v1","scope":"workspace"},{"schema_name":"a.v1","role":"trigger"},{}]}`)
	for _, c := range []struct {
		event     string
		here, all int
	}{{"a.v1", 3, 2}, {"a.v1 x", 1, 2}, {"b", 4, -1}} {
		e := eventOf(c.event)
		if here, all := set.Wakes(e, false), set.Wakes(e, true); here != c.here || all != c.all {
			t.Errorf("%s wakes %d here and %d in the workspace", c.event, here, all)
		}
	}
	e := eventOf("a.v1")
	if !set.Matches(0, e) || set.Matches(-1, e) || set.Matches(5, e) {
		t.Error("a context selector matches as a trigger does, and what is not there matches nothing")
	}
	if ok, because := set.Why(5, e); ok || because != "there is no such selector" {
		t.Error(ok, because)
	}
	trace := &selector.Event{Type: parley.TypeTrace, Schema: "a.v1"}
	if set.Wakes(trace, false) != -1 || set.Wakes(trace, true) != -1 {
		t.Error("a trace wakes")
	}
	if _, because := set.Why(4, trace); !strings.HasPrefix(because, "it is a trace") {
		t.Error(because)
	}
}

// The sentence has every condition of the selector.
func TestWhyMatched(t *testing.T) {
	for raw, want := range map[string]string{
		`{}`:                     "the selector takes every note and message",
		`{"schema_name":"a.v1"}`: "its schema is a.v1",
		`{"schema_name":"a.v1","any_tags":["z","y"]}`: "its schema is " +
			"a.v1 and it has the tag y",
		`{"schema_name":"a.v1","any_tags":["x"],"all_tags":["x","y"],` + when(is("$.k", "eq", "1"))[1:]: "its schema is " +
			"a.v1, it has the tag x, it has all 2 tags and its data meets the condition",
		when(is("$.k", "eq", "1"), is("$.l", "exists", "false")): "its data meets " +
			"all 2 conditions",
	} {
		if ok, because := compile(t, "["+raw+"]").Why(0, eventOf(`a.v1 x y {"k":1}`)); !ok || because != want {
			t.Errorf("%s: %v, %q", raw, ok, because)
		}
	}
	long := compile(t, "["+when(is("$."+strings.Repeat("ü", 200), "eq", `"`+strings.Repeat("x", 3000)+`"`))+"]")
	if _, because := long.Why(0, eventOf("-")); len(because) > 300 || strings.Contains(because, "\n") {
		t.Errorf("%d bytes: %s", len(because), because)
	}
}
