package selector_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/selector"
)

// compile compiles valid triggers.
func compile(t testing.TB, raw string) *selector.Set {
	t.Helper()
	set, faults := selector.Compile(json.RawMessage(raw))
	if len(faults) > 0 {
		t.Fatalf("%s: %v", raw, faults)
	}
	return set
}

// when returns a selector with these conditions.
func when(conditions ...string) string {
	return `{"context_match":[` + strings.Join(conditions, ",") + `]}`
}

func is(path, op, value string) string {
	p, _ := json.Marshal(path)
	if value == "" {
		return fmt.Sprintf(`{"path":%s,"op":%q}`, p, op)
	}
	return fmt.Sprintf(`{"path":%s,"op":%q,"value":%s}`, p, op, value)
}

// eventOf parses a short form: the schema or -, tags, and the data, with spaces between them.
func eventOf(s string) *selector.Event {
	head, data, _ := strings.Cut(s, " {")
	if data != "" {
		data = "{" + data
	}
	words := strings.Fields(head)
	e := &selector.Event{Type: parley.TypeSystem, Tags: words[1:], Data: json.RawMessage(data)}
	if words[0] != "-" {
		e.Schema = words[0]
	}
	return e
}

// asked returns data with d at $.d.
func asked(d string) string { return `- {"d":` + d + `}` }

const matches = ""

// table has all cases of matching. Routing, fetching and dry runs use the same matcher. because is
// the beginning of the reason for no match; if empty, the selector matches.
var table = []struct {
	name     string
	selector string
	event    string
	because  string
}{
	// A condition that is not given does not matter.
	{"nothing is asked", `{}`, `-`, matches},
	{"nothing is asked of data", `{}`, `a.v1 x {"k":1}`, matches},
	{"schema", `{"schema_name":"a.v1"}`, `a.v1`, matches},
	{"schema, another", `{"schema_name":"a.v1"}`, `a.v2`, "its schema is a.v2, but a.v1 is required"},
	{"schema, a part of it", `{"schema_name":"a"}`, `a.v1`, "its schema is a.v1"},
	{"schema, none", `{"schema_name":"a.v1"}`, `- a.v1`, "it has no schema, but a.v1 is required"},

	// An empty any_tags matches nothing, and an empty all_tags everything.
	{"any_tags", `{"any_tags":["x","y"]}`, `- y z`, matches},
	{"any_tags, none of them", `{"any_tags":["x","y"]}`, `- z`, "it has none of the tags x, y"},
	{"any_tags, empty", `{"any_tags":[]}`, `- x`, "any_tags is empty"},
	{"any_tags, empty, of no tags", `{"any_tags":[]}`, `-`, "any_tags is empty"},
	{"all_tags", `{"all_tags":["x","y"]}`, `- z y x`, matches},
	{"all_tags, one lacks", `{"all_tags":["x","y"]}`, `- x`, "it lacks the tag y"},
	{"all_tags, empty", `{"all_tags":[]}`, `-`, matches},
	{"tags of both kinds", `{"any_tags":["x"],"all_tags":["y"]}`, `- x`, "it lacks the tag y"},
	{"everything has to hold", `{"schema_name":"a","any_tags":["x"],"context_match":[` + is("$.d", "eq", "1") + `]}`,
		`a x {"d":2}`, "$.d is 2"},

	// The conditions of the seed: only the named tool is triggered.
	{"its own tool", `{"schema_name":"tool.request.v1","context_match":[` + is("$.tool", "eq", `"smart-search"`) + `]}`,
		`tool.request.v1 {"tool":"smart-search","input":{}}`, matches},
	{"another tool", `{"schema_name":"tool.request.v1","context_match":[` + is("$.tool", "eq", `"smart-search"`) + `]}`,
		`tool.request.v1 {"tool":"web-analyzer"}`,
		`$.tool is "web-analyzer", but eq "smart-search" is required`},
	{"no tool", when(is("$.tool", "eq", `"x"`)), `- {"tol":"x"}`, `there is no value at $.tool, but eq "x" is required`},
	{"no data", when(is("$.tool", "eq", `"x"`)), `-`, `there is no value at $.tool`},
	{"the second condition", when(is("$.d", "eq", "1"), is("$.e", "exists", "")), asked("1"),
		"there is no value at $.e, but exists is required"},

	// eq, and ne as its exact opposite.
	{"eq, texts", when(is("$.d", "eq", `"a"`)), asked(`"a"`), matches},
	{"eq, an escaped text", when(is("$.d", "eq", `"a<b"`)), asked(`"\u0061\u003cb"`), matches},
	{"eq, another case", when(is("$.d", "eq", `"a"`)), asked(`"A"`), `$.d is "A"`},
	{"eq, number and text", when(is("$.d", "eq", `1`)), asked(`"1"`), `$.d is "1", but eq 1 is required`},
	{"eq, numbers by value", when(is("$.d", "eq", `1`)), asked(`1.0`), matches},
	{"eq, exponents", when(is("$.d", "eq", `100`)), asked(`1E+2`), matches},
	{"eq, small exponents", when(is("$.d", "eq", `0.001`)), asked(`1e-3`), matches},
	{"eq, zeros", when(is("$.d", "eq", `0`)), asked(`-0.00e7`), matches},
	{"eq, large integers are not rounded", when(is("$.d", "eq", `9007199254740993`)), asked(`9007199254740992`),
		`$.d is 9007199254740992`},
	{"eq, large integers", when(is("$.d", "eq", `9007199254740993`)), asked(`9007199254740993.0`), matches},
	{"eq, exponents that nobody writes out", when(is("$.d", "eq", `1e400`)), asked(`10e399`), matches},
	{"eq, an exponent beyond the bound", when(is("$.d", "eq", `1e9999999999999999999`)), asked(`2e9999999999999999999`),
		"$.d is 2e"},
	{"eq, null", when(is("$.d", "eq", `null`)), asked(`null`), matches},
	{"eq, null and nothing", when(is("$.e", "eq", `null`)), asked(`null`), "there is no value at $.e"},
	{"eq, null and false", when(is("$.d", "eq", `false`)), asked(`null`), "$.d is null"},
	{"eq, lists", when(is("$.d", "eq", `[1,{"a":[]}]`)), asked(`[1.0, {"a": []}]`), matches},
	{"eq, lists in another order", when(is("$.d", "eq", `[1,2]`)), asked(`[2,1]`), "$.d is [2,1]"},
	{"eq, objects in another order", when(is("$.d", "eq", `{"a":1,"b":2}`)), asked(`{"b":2,"a":1}`), matches},
	{"eq, a member more", when(is("$.d", "eq", `{"a":1}`)), asked(`{"b":2,"a":1}`), "$.d is"},
	{"eq, the whole of the data", when(is("$", "eq", `{"d":1}`)), asked(`1`), matches},
	{"ne", when(is("$.d", "ne", `"a"`)), asked(`"b"`), matches},
	{"ne, the same", when(is("$.d", "ne", `"a"`)), asked(`"a"`), `$.d is "a", but ne "a" is required`},
	{"ne, another type", when(is("$.d", "ne", `1`)), asked(`"1"`), matches},
	{"ne, nothing", when(is("$.e", "ne", `1`)), asked(`1`), matches},
	{"ne, no data", when(is("$.e", "ne", `1`)), `-`, matches},
	{"ne, one of several", when(is("$.d[*]", "ne", `1`)), asked(`[2,1]`), "$.d[*] is 1, but ne 1 is required"},

	// Only numbers and strings have an order.
	{"gt", when(is("$.d", "gt", `10`)), asked(`10.5`), matches},
	{"gt, the same", when(is("$.d", "gt", `10`)), asked(`1e1`), "$.d is 1e1, but gt 10 is required"},
	{"gte, the same", when(is("$.d", "gte", `10`)), asked(`1e1`), matches},
	{"lt, below zero", when(is("$.d", "lt", `-1`)), asked(`-1.5`), matches},
	{"lt", when(is("$.d", "lt", `9`)), asked(`10`), "$.d is 10"},
	{"lte", when(is("$.d", "lte", `10`)), asked(`10`), matches},
	{"lte, by digits", when(is("$.d", "lte", `123456789012345678901`)), asked(`123456789012345678902`), "$.d is"},
	{"gt, texts by bytes", when(is("$.d", "gt", `"Z"`)), asked(`"a"`), matches},
	{"gt, a text against a number", when(is("$.d", "gt", `1`)), asked(`"2"`), `$.d is "2", but gt 1 is required`},
	{"lt, a text against a number", when(is("$.d", "lt", `9`)), asked(`"2"`), `$.d is "2"`},
	{"gt, true", when(is("$.d", "gt", `0`)), asked(`true`), "$.d is true"},
	{"gte, null", when(is("$.d", "gte", `0`)), asked(`null`), "$.d is null"},
	{"gt, nothing", when(is("$.e", "gt", `0`)), asked(`1`), "there is no value at $.e"},

	// contains: a substring, or an element of a list.
	{"contains, a text", when(is("$.d", "contains", `"urgent"`)), asked(`"most urgent!"`), matches},
	{"contains, not the text", when(is("$.d", "contains", `"urgent"`)), asked(`"Urgent"`), `$.d is "Urgent"`},
	{"contains, an element", when(is("$.d", "contains", `2`)), asked(`[1,2.0]`), matches},
	{"contains, not a part of an element", when(is("$.d", "contains", `"a"`)), asked(`["ab"]`), `$.d is ["ab"]`},
	{"contains, a number in a text", when(is("$.d", "contains", `1`)), asked(`"1"`), `$.d is "1"`},
	{"contains, the name of a member", when(is("$.d", "contains", `"a"`)), asked(`{"a":1}`), `$.d is {"a":1}`},
	{"contains_any, elements", when(is("$.d", "contains_any", `["a","b"]`)), asked(`["c","b"]`), matches},
	{"contains_any, a text", when(is("$.d", "contains_any", `["a","b"]`)), asked(`"xbx"`), matches},
	{"contains_any, none", when(is("$.d", "contains_any", `["a","b"]`)), asked(`["c"]`),
		`$.d is ["c"], but contains_any ["a","b"] is required`},
	{"contains_any of nothing", when(is("$.d", "contains_any", `[]`)), asked(`["c"]`), `$.d is`},
	{"contains_any, a type that cannot", when(is("$.d", "contains_any", `["a"]`)), asked(`{"a":1}`), `$.d is {"a":1}`},

	// exists.
	{"exists", when(is("$.d", "exists", "")), asked(`null`), matches},
	{"exists, true", when(is("$.d", "exists", "true")), asked(`false`), matches},
	{"exists, not", when(is("$.e", "exists", "true")), asked(`1`), "there is no value at $.e"},
	{"does not exist", when(is("$.e", "exists", "false")), asked(`1`), matches},
	{"does not exist, but does", when(is("$.d", "exists", "false")), asked(`1`),
		"$.d is 1, but exists false is required"},
	{"does not exist, no data", when(is("$.d", "exists", "false")), `-`, matches},

	// Paths: one of the found values must hold.
	{"one of several", when(is("$.d[*].a", "eq", "2")), asked(`[{"a":1},{"a":2}]`), matches},
	{"none of several", when(is("$.d[*].a", "eq", "3")), asked(`[{"a":1},{"a":2}]`),
		"none of the 2 values at $.d[*].a is what eq 3 asks for: the first is 1"},
	{"in brackets", when(is(`$["d"]['a b']`, "eq", "1")), asked(`{"a b":1}`), matches},
	{"from the end", when(is("$.d[-1]", "eq", "2")), asked(`[1,2]`), matches},
	{"a slice", when(is("$.d[1:3]", "eq", "3")), asked(`[1,2,3,4]`), matches},
	{"a slice backwards", when(is("$.d[::-2]", "eq", "3")), asked(`[1,2,3,4]`), "none of the 2 values"},
	{"anywhere", when(is("$..a", "eq", "5")), asked(`[{"b":{"a":5}}]`), matches},
	{"a filter", when(is("$.d[?@.k == 'x' && @.n > 2].v", "eq", "true")),
		asked(`[{"k":"x","n":1,"v":false},{"k":"x","n":3,"v":true}]`), matches},
	{"a filter, exact", when(is("$.d[?@ == 9007199254740993]", "exists", "")), asked(`[9007199254740992]`),
		"there is no value at"},
	{"a filter of types", when(is("$.d[?@ > 1]", "exists", "")), asked(`["2",true,null]`), "there is no value at"},
	{"a pattern", when(is("$.d[?match(@, 'a|b.')]", "exists", "")), asked(`["ab","a"]`), matches},
	{"a pattern has to match the whole", when(is("$.d[?match(@, 'a|b.')]", "exists", "")), asked(`["ab","bbb"]`),
		"there is no value at"},
	{"a pattern of nothing", when(is("$.d[?match(@.x, 'a')]", "exists", "")), asked(`[{}]`), "there is no value at"},
	{"functions", when(is("$.d[?length(@.a) == 2 && count(@.*) == 1 && value(@..z) == 7]", "exists", "")),
		asked(`[{"a":{"z":7,"y":0}}]`), matches},
	{"a path into a text", when(is("$.d.a", "exists", "")), asked(`"a"`), "there is no value at"},
	{"too many steps", when(is("$..*..*..*", "eq", "1")), `- {"d":` + strings.Repeat(`[0,`, 30) + `[` +
		strings.Repeat(`0,`, 2000) + `0]` + strings.Repeat(`]`, 30) + `}`,
		"to look for $..*..*..* took more than 20000 steps"},
	{"too many steps for what is not", when(is("$..*..*..*", "ne", "1")), `- {"d":` + strings.Repeat(`[0,`, 30) + `[` +
		strings.Repeat(`0,`, 2000) + `0]` + strings.Repeat(`]`, 30) + `}`, "to look for"},
}

// TestTable checks Matches, Why, Wakes and the index for each case.
func TestTable(t *testing.T) {
	for _, c := range table {
		for _, workspace := range []bool{false, true} {
			raw := "[" + c.selector + "]"
			if workspace {
				raw = "[" + strings.TrimSuffix(c.selector, "}") + `,"scope":"workspace"}]`
				raw = strings.Replace(raw, "{,", "{", 1)
			}
			set, e := compile(t, raw), eventOf(c.event)
			var x selector.Index[string]
			x.Put("a", set)

			want := c.because == matches
			why, because := set.Why(0, e)
			if got := set.Matches(0, e); got != want || why != want {
				t.Errorf("%s: matches %v, why says %v: %s", c.name, got, why, because)
			}
			if !want && !strings.HasPrefix(because, c.because) || because == "" || strings.HasSuffix(because, ".") {
				t.Errorf("%s: %q, expected %q", c.name, because, c.because)
			}
			wakes := map[bool]int{true: 0, false: -1}[want]
			if got := set.Wakes(e, workspace); got != wakes {
				t.Errorf("%s: wakes %d", c.name, got)
			}
			if got := set.Wakes(e, !workspace); got != -1 {
				t.Errorf("%s: wakes in the other scope", c.name)
			}
			hits, more := x.Match(e, 10)
			if len(hits) == 1 != (want && workspace) || more != 0 {
				t.Errorf("%s: the index gives %v and %d more", c.name, hits, more)
			}
		}
	}
}
