package yamlfile_test

import (
	"fmt"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v4"

	"github.com/parleyhub/parley/internal/yamlfile"
)

// outline formats nodes with their positions.
func outline(n *yaml.Node) string {
	text := fmt.Sprintf("%d:%d %s %s", n.Line, n.Column, n.ShortTag(), n.Value)
	for _, c := range n.Content {
		text += "|" + outline(c)
	}
	return text
}

// JSON is read as JSON. Faults have a position, and do not quote the text.
func TestParseJSON(t *testing.T) {
	for text, want := range map[string]string{
		"":         "",
		" null":    "",
		"\ufeff[]": "1:1 !!seq ",
		"{\n\t\"a\":\t\"é\", \"b\" : [1,\n2.5,1e400,true,null]\n}": "1:1 !!map |2:2 !!str a|2:7 !!str é|2:12 !!str b|2:18 " +
			"!!seq |2:19 !!int 1|3:1 !!float 2.5|3:5 !!float 1e400|3:11 !!bool true|3:16 !!null null",
		`["\ud83d\ude00\/\u0041"]`:   "1:1 !!seq |1:2 !!str 😀/A",
		`{"a":12345678901234567890}`: "1:1 !!map |1:2 !!str a|1:6 !!int 12345678901234567890",
		`{"a":1,}`:                   "1:8 not JSON: expected no comma before the end of an object or list",
		`[1, ]`:                      "1:5 not JSON: expected no comma before the end of an object or list",
		`{a:1}`:                      "1:2 not JSON: expected a name in double quotes",
		`{"a":1,2:3}`:                "1:8 not JSON: expected a name in double quotes",
		`{"a":}`:                     "1:6 not JSON: expected a value",
		`{"a":True}`:                 "1:6 not JSON: expected a value",
		`["\q"]`:                     "1:3 not JSON: expected an escape such as \\\\ or \\u0041",
		`{"a":1}}`: "1:1 !!map |1:2 !!str a|1:6 !!int 1; 1:8 not JSON: expected " +
			"nothing after the value",
		"{\n'canary':1}":                 "2:1 not JSON: expected a name in double quotes",
		`{"a" 1}`:                        "1:6 not JSON: expected ':'",
		`[1 2]`:                          "1:4 not JSON: expected ',' or ']'",
		`["canary`:                       "1:9 not JSON: it ends too early",
		`["\ud83dcanary"]`:               "1:3 not JSON: expected both halves of a surrogate pair",
		"{} {}":                          "1:1 !!map ; 1:5 expected one document",
		"{}\n# canary":                   "1:1 !!map ; 2:1 not JSON: expected nothing after the value",
		"[\xff]":                         "1:2 expected UTF-8 without control characters",
		strings.Repeat("[", 20000):       "1:10001 not JSON: it nests too deep",
		strings.Repeat(" ", 1<<20) + " ": "1:1 expected a file of at most 1048576 bytes",
	} {
		root, faults := yamlfile.ParseJSON([]byte(text))
		var told []string
		if root != nil {
			told = append(told, outline(root))
		}
		for _, f := range faults {
			told = append(told, fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.What))
		}
		if got := strings.Join(told, "; "); got != want {
			t.Errorf("%.40q: %s; expected %s", text, got, want)
		}
	}
}

// FuzzParseJSON checks that text that encoding/json accepts is accepted, unless it is not UTF-8,
// and that faults have a position.
func FuzzParseJSON(f *testing.F) {
	for _, text := range []string{`{"a":[1,"x",null]}`, "[\n1,\n]", `{"a":1,"a":2}`, `"\ud800"`, "\x00", "nul"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		root, faults := yamlfile.ParseJSON(text)
		if root == nil && len(faults) == 0 && !strings.Contains("null", strings.Trim(string(text), "\ufeff \t\r\n")) {
			t.Fatalf("%q is nothing", text)
		}
		for _, f := range faults {
			if f.Line < 1 || f.Column < 1 {
				t.Errorf("%+v has no place", f)
			}
		}
	})
}
