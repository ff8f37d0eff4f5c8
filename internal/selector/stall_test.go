package selector_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/selector"
)

// stallWithin is one minute by default, which only an endless loop reaches. With one second, it
// measures the promise on an idle machine.
var stallWithin = flag.Duration("stall.within", time.Minute,
	"the `CPU time` to compile the worst subscriptions, or to match the worst event")

// within fails if f takes more CPU time than stallWithin in each of three attempts.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	var took time.Duration
	for range 3 {
		begin := cpuTime()
		f()
		if took = cpuTime() - begin; took <= *stallWithin {
			t.Logf("%s took %v", what, took)
			return
		}
	}
	t.Errorf("%s took %v of CPU time, three times; expected at most %v", what, took, *stallWithin)
}

// same joins n copies of a part with commas.
func same(n int, part string) string { return strings.TrimSuffix(strings.Repeat(part+",", n), ",") }

// numbered joins n copies of a part with its index.
func numbered(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(parts, ",")
}

// worst returns the maximum number of selectors with as many of these conditions as fit.
func worst(t *testing.T, condition string) *selector.Set {
	t.Helper()
	n := min(limits.MaxContextMatches, (limits.MaxSubscriptionBytes/limits.MaxSelectors-40)/(len(condition)+1))
	return compile(t, "["+same(limits.MaxSelectors,
		when(strings.Split(strings.TrimSuffix(strings.Repeat(condition+"\x00", max(n, 1)), "\x00"), "\x00")...))+"]")
}

// Expensive events are matched against expensive triggers.
func TestMatchEnds(t *testing.T) {
	const most = parley.MaxEventBytes
	deep := func(s string) string { return strings.Repeat("[", 60) + s + strings.Repeat("]", 60) }
	zeros := "[" + same(most/2-100, "0") + "]"
	for i, c := range []struct{ name, condition, data string }{
		{"everything below everything", is("$..*..*..*..*", "eq", "1"), deep(zeros)},
		{"everything below everything, for what is not", is("$..*..*..*..*", "ne", "1"), deep(zeros)},
		{"many descents", is("$"+strings.Repeat("..*", 160), "exists", ""), deep(zeros)},
		{"many of each", is("$"+strings.Repeat("[*,*]", 30), "eq", "1"), deep("0")},
		{"filters in filters", is("$..[?@..[?@..[?@.a == 1]]]", "exists", ""), deep(zeros)},
		{"a filter that counts", is("$[?count($..*) == 1]", "exists", ""), zeros},
		{"a filter that compares everything", is("$[?@ == $]", "exists", ""), "[" + same(100, deep("["+same(2000, "0")+"]")) +
			"]"},
		{"a filter that compares long lists", is("$[?@ == $[0]]", "gt", "3"), "[" + same(100, "["+same(2000, "0")+"]") + "]"},
		{"long numbers", is("$[*]", "gt", "1"), "[" + same(2, strings.Repeat("9", most/2-100)) + "]"},
		{"long numbers that are equal", is("$[?@ == $[0]]", "lt", "1"), "[" + same(2, strings.Repeat("9", most/2-100)+".0") +
			"]"},
		{"long texts", is("$[*]", "contains", `"`+strings.Repeat("a", 1500)+`b"`), `["` + strings.Repeat("a", most-100) +
			`"]`},
		{"long texts of many", is("$[*]", "contains_any", `[`+same(300, `"ab"`)+`]`), `["` + strings.Repeat("a", most-100) +
			`"]`},
		{"lengths of long texts", is("$[?length($[0]) < 0]", "exists", ""), `["` + strings.Repeat("ä", most/2-3000) + `",` +
			same(1000, "0") + `]`},
		{"a list of many values", is("$[*]", "contains_any", "["+same(700, "1")+"]"),
			"[" + same(100, "["+same(2000, "0")+"]") + "]"},
		{"wide objects", is("$..zz", "eq", "1"), "[" + same(1000, "{"+numbered(80, `"k%d":0`)+"}") + "]"},
		{"one wide object", is("$.zz", "ne", "1"), "{" + numbered(80_000, `"k%d":0`) + "}"},
		{"escaped texts", is("$[*]", "eq", `"a"`), "[" + same(most/10, `"\u0061b"`) + "]"},
		{"slices", is("$"+strings.Repeat("[::-1]", 60), "eq", "1"), zeros},
	} {
		if testing.Short() && i%6 != 0 {
			continue
		}
		within(t, c.name, func() {
			set := worst(t, c.condition)
			e := &selector.Event{Type: parley.TypeSystem, Data: json.RawMessage(c.data)}
			for range 3 {
				set.Wakes(e, false)
			}
		})
	}
}

// Patterns are limited by their cost for a string.
func TestPatternsAreLimited(t *testing.T) {
	for _, pattern := range []string{`(a*)*b`, `(a|aa)*c`, `.*.*.*.*.*=`, `(x{0,15}){0,15}a`, `[\\pL\\pN]*z`, `(é|a)*z`} {
		set := compile(t, "["+same(32, when(is("$[?search(@, '"+pattern+"')]", "exists", "")))+"]")
		for _, n := range []int{100, 1_000, 10_000, 800_000} {
			e := &selector.Event{Type: parley.TypeSystem, Data: json.RawMessage(`["` + strings.Repeat("a", n) + `"]`)}
			within(t, fmt.Sprintf("%s over %d", pattern, n), func() { set.Wakes(e, false) })
		}
	}
}

// Triggers that take as long as possible are compiled. Some are refused.
func TestCompileEnds(t *testing.T) {
	for _, c := range []struct {
		name      string
		condition string
		n         int
	}{
		{"many small paths", is("$", "exists", ""), 500},
		{"long paths", is("$"+strings.Repeat(".a", 200), "exists", ""), 120},
		{"many selectors", is("$["+same(200, "0")+"]", "exists", ""), 120},
		{"nested filters", is("$"+strings.Repeat("[?@", 100)+strings.Repeat("]", 100), "exists", ""), 120},
		{"nested parentheses", is("$[?"+strings.Repeat("(", 200)+"@"+strings.Repeat(")", 200)+"]", "exists", ""), 110},
		{"spaces", is("$"+strings.Repeat(" ", 480)+".a", "exists", ""), 90},
		{"large classes", is("$[?match(@,'"+strings.Repeat(`[^\\pL]`, 30)+"')]", "exists", ""), 100},
		{"folded classes", is("$[?match(@,'"+strings.Repeat(`(?i)[^\\pL]`, 20)+"')]", "exists", ""), 100},
		{"large repeats", is("$[?match(@,'"+strings.Repeat("(x{1000})", 20)+"')]", "exists", ""), 100},
		{"repeats of repeats", is("$[?match(@,'"+strings.Repeat("(", 30)+"x"+strings.Repeat("{2})", 30)+"')]", "exists", ""),
			100},
		{"small patterns", is("$[?match(@,'x{900}')]", "exists", ""), 500},
		{"what is no path", is("$["+strings.Repeat("'", 300), "exists", ""), 100},
	} {
		selectors := make([]string, limits.MaxSelectors)
		for i := range selectors {
			n := min(c.n/len(selectors)+1, limits.MaxContextMatches)
			selectors[i] = when(same(n, c.condition))
		}
		raw := json.RawMessage("[" + strings.Join(selectors, ",") + "]")
		within(t, c.name, func() { selector.Compile(raw) })
	}
}
