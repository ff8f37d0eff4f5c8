// These tests compare paths with the library, which has no limits and rounds numbers. They are
// internal, because queries are not exported.
package selector

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/theory/jsonpath"
	"pgregory.net/rapid"
)

// found returns the sorted results of a path as JSON. It returns false if it took too many steps.
func found(q *query, data []byte) ([]string, bool) {
	w := walk{root: decode(data), left: MaxSteps}
	var all []string
	ended := q.each(&w, w.root, func(v *value) bool {
		all = append(all, canonical([]byte(v.raw)))
		return true
	})
	slices.Sort(all)
	return all, ended
}

func canonical(raw []byte) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		panic(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// foundByLibrary does the same with the library. It returns false if the library panics, as for
// match of nothing.
func foundByLibrary(path string, data []byte) (all []string, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		panic(err)
	}
	for _, one := range jsonpath.MustParse(path).Select(v) {
		b, err := json.Marshal(one)
		if err != nil {
			panic(err)
		}
		all = append(all, string(b))
	}
	slices.Sort(all)
	return all, true
}

// A path finds what the library finds.
func TestPathsMatchLibrary(t *testing.T) {
	held, tried := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		path, data := drawPath(t, 2), []byte(drawJSON(t, 4))
		q, err := compilePath(path, &patterns{})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		want, ok := foundByLibrary(path, data)
		got, ended := found(q, data)
		tried++
		if !ok || !ended {
			return
		}
		held++
		if !slices.Equal(got, want) {
			t.Fatalf("%s\nof %s\nfinds %q\nand in the library %q", path, data, got, want)
		}
	})
	if held*2 < tried {
		t.Errorf("only %d of %d were held against it", held, tried)
	}
}

// TestComparisons has examples of RFC 9535, section 2.3.5.3. The library fails for some of them.
func TestComparisons(t *testing.T) {
	data := []byte(`{"obj": {"x": "y"}, "arr": [2, 3]}`)
	for test, want := range map[string]bool{
		"$.absent1 == $.absent2": true, "$.absent1 <= $.absent2": true, "$.absent == 'g'": false,
		"$.absent1 != $.absent2": false, "$.absent != 'g'": true,
		"1 <= 2": true, "1 > 2": false, "13 == '13'": false, "'a' <= 'b'": true, "'a' > 'b'": false, "$.obj == $.arr": false,
		"$.obj != $.arr": true, "$.obj == $.obj": true,
		"$.obj != $.obj": false, "$.arr == $.arr": true, "$.arr != $.arr": false, "$.obj == 17": false, "$.obj != 17": true,
		"$.obj <= $.arr": false, "$.obj < $.arr": false,
		"$.obj <= $.obj": true, "$.arr <= $.arr": true, "1 <= $.arr": false, "1 >= $.arr": false, "1 > $.arr": false,
		"1 < $.arr": false, "true <= true": true, "true > true": false,
		"9007199254740993 == 9007199254740992": false, "0.1e1 == 1": true,
	} {
		q, err := compilePath("$[?"+test+"]", &patterns{})
		if err != nil {
			t.Fatal(err)
		}
		if all, _ := found(q, data); len(all) > 0 != want {
			t.Errorf("%s is %v", test, !want)
		}
	}
}

var someNames = []string{"a", "b", "ab", "ü", "a b"}

func drawJSON(t *rapid.T, deep int) string {
	kinds := 6
	if deep == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "constant")
	case 1, 2:
		return rapid.SampledFrom([]string{"0", "1", "-1", "2", "1.5", "10", "1e1"}).Draw(t, "number")
	case 3:
		return rapid.SampledFrom([]string{`""`, `"a"`, `"b"`, `"ab"`, `"\u00fc"`, `"x\ny"`}).Draw(t, "text")
	case 4:
		return "[" + strings.Join(drawn(t, 0, 4, func() string { return drawJSON(t, deep-1) }), ",") + "]"
	}
	var members []string
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(someNames), 0, 4, rapid.ID).Draw(t, "names") {
		members = append(members, fmt.Sprintf("%q:%s", name, drawJSON(t, deep-1)))
	}
	return "{" + strings.Join(members, ", ") + "}"
}

func drawn(t *rapid.T, least, most int, draw func() string) []string {
	all := make([]string, rapid.IntRange(least, most).Draw(t, "n"))
	for i := range all {
		all[i] = draw()
	}
	return all
}

func drawPath(t *rapid.T, filters int) string { return "$" + drawSegments(t, filters, 0, 3) }

func drawSegments(t *rapid.T, filters, least, most int) string {
	return strings.Join(drawn(t, least, most, func() string { return drawSegment(t, filters) }), "")
}

func drawSegment(t *rapid.T, filters int) string {
	descend := rapid.SampledFrom([]string{"", "", "", ".."}).Draw(t, "descend")
	switch rapid.IntRange(0, 3).Draw(t, "segment") {
	case 0:
		return cmpOr(descend, ".") + rapid.SampledFrom([]string{"a", "b", "ab", "ü", "*"}).Draw(t, "name")
	case 1:
		return descend + "[ " + drawName(t) + " ]"
	}
	return descend + "[" + strings.Join(drawn(t, 1, 2, func() string { return drawSelector(t, filters) }), " , ") + "]"
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func drawName(t *rapid.T) string {
	name := rapid.SampledFrom(someNames).Draw(t, "name")
	if rapid.Bool().Draw(t, "quotes") {
		return "'" + name + "'"
	}
	return `"` + strings.ReplaceAll(name, "ü", `\u00fc`) + `"`
}

func drawSelector(t *rapid.T, filters int) string {
	integer := func() string {
		return rapid.SampledFrom([]string{"", "0", "1", "2", "-1", "-2", "9", "-9"}).Draw(t, "integer")
	}
	switch n := rapid.IntRange(0, 5).Draw(t, "selector"); {
	case n == 0:
		return "*"
	case n == 1:
		return cmpOr(integer(), "0")
	case n == 2:
		return integer() + ":" + integer()
	case n == 3:
		return integer() + ":" + integer() + " :" + integer()
	case n == 4 && filters > 0:
		return "? " + drawTest(t, filters-1, 2)
	}
	return drawName(t)
}

func drawTest(t *rapid.T, filters, deep int) string {
	kinds := 7
	if deep == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "test") {
	case 0, 1:
		if rapid.Bool().Draw(t, "same") { // for the library, nothing is neither less than nor equal to nothing
			return drawTerm(t, filters) + rapid.SampledFrom([]string{"<= ", " >="}).Draw(t, "op") + drawLiteral(t)
		}
		return drawTerm(t, filters) + rapid.SampledFrom([]string{"==", " != ", "<", " >"}).Draw(t, "op") + drawTerm(t,
			filters)
	case 2:
		return drawQuery(t, filters)
	case 3:
		return rapid.SampledFrom([]string{"match", "search"}).Draw(t, "function") + "(" + drawSingular(t) +
			rapid.SampledFrom([]string{", 'a')", `,"[ab]+")`, ", 'x.y')"}).Draw(t, "pattern")
	case 4:
		return rapid.SampledFrom([]string{"!(", "("}).Draw(t, "not") + drawTest(t, filters, deep-1) + " )"
	case 5:
		return drawTest(t, filters, deep-1) + " || " + drawTest(t, filters, deep-1)
	}
	return "!" + drawQuery(t, filters)
}

func drawQuery(t *rapid.T, filters int) string {
	return rapid.SampledFrom([]string{"@", "$"}).Draw(t, "root") + drawSegments(t, filters, 0, 2)
}

func drawSingular(t *rapid.T) string {
	return rapid.SampledFrom([]string{"@", "$"}).Draw(t, "root") + strings.Join(drawn(t, 0, 2, func() string {
		return rapid.SampledFrom([]string{".a", "['b']", "[0]", "[-1]", ".ab"}).Draw(t, "part")
	}), "")
}

func drawTerm(t *rapid.T, filters int) string {
	switch rapid.IntRange(0, 5).Draw(t, "term") {
	case 0:
		return drawLiteral(t)
	case 1:
		return "length(" + drawSingular(t) + ")"
	case 2:
		return rapid.SampledFrom([]string{"count(", "value( "}).Draw(t, "function") + drawQuery(t, filters) + ")"
	}
	return drawSingular(t)
}

func drawLiteral(t *rapid.T) string {
	return rapid.SampledFrom([]string{"1", "-1", "1.5", "1e1", "'a'", `"ab"`, "true", "false", "null"}).Draw(t, "literal")
}
