package yamlfile_test

import (
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/yamlfile"
)

// One document is returned. Faults have a position, and do not quote the text.
func TestParse(t *testing.T) {
	for text, want := range map[string]struct {
		root   bool
		faults string
	}{
		"":                                {false, ""},
		"# nothing\n":                     {false, ""},
		"~":                               {false, ""},
		"a: 1":                            {true, ""},
		"a: 1\n---\nb: 2":                 {true, "2:1 expected one document"},
		"a: 1\n--- [":                     {true, "3:1 not YAML: did not find expected node content"},
		"a: [":                            {false, "2:1 not YAML: did not find expected node content"},
		"a: \xff":                         {false, "1:4 expected UTF-8 without control characters"},
		"a\n\x00":                         {false, "2:1 expected UTF-8 without control characters"},
		strings.Repeat("#", 1<<20):        {false, ""},
		strings.Repeat("#", 1<<20) + "\n": {false, "1:1 expected a file of at most 1048576 bytes"},
		"a: *canary":                      {false, "1:4 not YAML: unknown anchor referenced"},
	} {
		root, faults := yamlfile.Parse([]byte(text))
		var told []string
		for _, f := range faults {
			finding := yamlfile.Finding{File: "f", Line: f.Line, Column: f.Column, What: f.What}
			told = append(told, strings.Replace(strings.TrimPrefix(finding.String(), "f:"), ": ", " ", 1))
		}
		if got := strings.Join(told, "|"); (root != nil) != want.root || got != want.faults {
			t.Errorf("%.20q: root %v, %q; expected %v, %q", text, root != nil, got, want.root, want.faults)
		}
	}
}

// Duplicate keys and keys that are not strings are reported.
func TestMembers(t *testing.T) {
	root, faults := yamlfile.Parse([]byte("a: 1\nb: 2\n5: 3\na: 4\n"))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var got []string
	for _, m := range yamlfile.Members(root) {
		switch {
		case !m.Named:
			got = append(got, "?")
		case m.Before > 0:
			got = append(got, m.Key.Value+" again")
		default:
			got = append(got, m.Key.Value)
		}
	}
	if text := strings.Join(got, ","); text != "a,b,?,a again" {
		t.Error(text)
	}
}
