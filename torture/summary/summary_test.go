package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/promise"
)

// every is the output of a run that has tried everything.
func every() string {
	var b strings.Builder
	for i := range int(promise.Last) {
		b.WriteString("    a_test.go:7: promise: {\"promise\":\"P" + string(rune('0'+(i+1)/10)) +
			string(rune('0'+(i+1)%10)) + `","test":"TestIt","faults":2,"operations":30,"violations":0}` + "\n")
	}
	return b.String()
}

func TestSummary(t *testing.T) {
	for name, c := range map[string]struct{ in, out, fails string }{
		"all kept": {every() + "ok  \tx\t1.0s\n", "P23       2          30        0           0  TestIt", ""},
		"added up": {every() +
			`promise: {"promise":"P1","test":"TestThat","faults":1,"operations":4,"unknown":5,"violations":0,"figure":"1.2 s"}` + "\n", "P1: 1.2 s", ""},
		"broken": {every() + `promise: {"promise":"P3","test":"TestIt","faults":1,"operations":4,"violations":2}` + "\n",
			"", "P3 was broken 2 times"},
		"not tried": {strings.Replace(every(), `"P07"`, `"P08"`, 1), "", "P7 was not tried"},
		"left out": {strings.Replace(every(), `"P07","test":"TestIt","faults":2,"operations":30,"violations":0`,
			`"P07","test":"TestIt","left":"needs root"`, 1), "not tried (left out: TestIt: needs root)", ""},
		"test fails": {every() + "--- FAIL: TestIt (0.01s)\n", "--- FAIL: TestIt", "1 tests or packages have failed"},
		"no build":   {every() + "FAIL\tx [build failed]\n", "", "1 tests or packages have failed"},
		"nonsense":   {every() + `promise: {"promise":"P24"}` + "\n", "", `no promise "P24"`},
		"half":       {every() + `promise: {"promise":`, "", "unexpected end"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := run(strings.NewReader(c.in), &out, "", false)
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("error %v, expected %q", err, c.fails)
			}
			if !strings.Contains(out.String(), c.out) {
				t.Errorf("expected %q in\n%s", c.out, out.String())
			}
		})
	}
	if err := run(strings.NewReader(""), new(strings.Builder), "", true); err != nil {
		t.Errorf("a part: %v", err)
	}
}

func TestRecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte("before\n<!-- figures -->\nold\n<!-- /figures -->\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := run(strings.NewReader(every()), new(strings.Builder), file, false); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if got := string(b); err != nil || strings.Count(got, "| P23 | 2 | 30 |") != 1 || strings.Contains(got, "old") ||
		!strings.HasSuffix(got, "<!-- /figures -->\nafter\n") {
		t.Errorf("%v\n%s", err, got)
	}
}
