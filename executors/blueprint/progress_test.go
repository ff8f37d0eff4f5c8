//go:build unix

package blueprint_test

import (
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/blueprint"
)

// The traces of a command are limited, whatever its run time and output.
func TestPause(t *testing.T) {
	for ran, want := range map[time.Duration]time.Duration{
		0: time.Second, 10 * time.Minute: time.Second, 20 * time.Minute: 2 * time.Second, 10 * time.Hour: time.Minute,
	} {
		if got := blueprint.Pause(ran); got != want {
			t.Errorf("after %s: %s, expected %s", ran, got, want)
		}
	}
	traces := 0
	for ran := time.Duration(0); ran < blueprint.MaxTimeout; ran += blueprint.Pause(ran) {
		traces++
	}
	if traces > 5000 || traces*8<<10 > 256<<20 { // what a conversation holds, in bytes
		t.Errorf("%d traces in %s", traces, time.Duration(blueprint.MaxTimeout))
	}
}

// The newest lines of stderr are kept, in the form that a terminal shows.
func TestTail(t *testing.T) {
	const kept = 4 << 10
	for name, c := range map[string]struct {
		writes []string
		// fetched after each write, and last at the end
		fetched []string
		rest    string
		last    string
	}{
		"lines":    {writes: []string{"a\nb", "c\n", ""}, fetched: []string{"a", "bc", ""}, last: "a\nbc"},
		"no end":   {writes: []string{"a"}, fetched: []string{""}, rest: "a", last: "a"},
		"progress": {writes: []string{"1%\r", "2%\r3%\r", "done\n"}, fetched: []string{"1%", "3%", "done"}, last: "done"},
		"crlf":     {writes: []string{"a\r\nb\r\n"}, fetched: []string{"a\nb"}, last: "a\nb"},
		"blank":    {writes: []string{"\n\n", "  \n"}, fetched: []string{"", ""}, last: ""},
		"long line": {writes: []string{strings.Repeat("x", kept+1)}, fetched: []string{strings.Repeat("x", kept)},
			last: strings.Repeat("x", kept)},
		"much": {writes: []string{strings.Repeat("line\n", 2000) + "end\n"},
			fetched: []string{strings.Repeat("line\n", 818) + "end"}, last: strings.Repeat("line\n", 818) + "end"},
		"runes": {writes: []string{"x\n" + strings.Repeat("é", kept)}, fetched: []string{strings.Repeat("é", kept/2)},
			last: strings.Repeat("é", kept/2)},
		"half rune": {writes: []string{strings.Repeat("é", kept) + "x"},
			fetched: []string{"\ufffd" + strings.Repeat("é", kept/2-1) + "x"}, last: "\ufffd" + strings.Repeat("é", kept/2-1) +
				"x"},
		"no text": {writes: []string{"a\xff\x00b\n"}, fetched: []string{"a\ufffd\x00b"}, last: "a\ufffd\x00b"},
	} {
		tail := &blueprint.Tail{}
		for i, w := range c.writes {
			if n, err := tail.Write([]byte(w)); n != len(w) || err != nil {
				t.Errorf("%s: %d of %d, %v", name, n, len(w), err)
			}
			if got := tail.Fetch(false); got != c.fetched[i] {
				t.Errorf("%s: fetched %.40q (%d), expected %.40q (%d)", name, got, len(got), c.fetched[i], len(c.fetched[i]))
			}
		}
		if got := tail.Fetch(true); got != c.rest {
			t.Errorf("%s: %.40q is left, expected %.40q", name, got, c.rest)
		}
		if got := tail.Last(); got != c.last {
			t.Errorf("%s: last %.40q (%d), expected %.40q (%d)", name, got, len(got), c.last, len(c.last))
		}
	}
}

// Numbers beyond a double keep their text.
func TestArguments(t *testing.T) {
	withPrograms(t, "python")
	f, faults := blueprint.Parse("b.json",
		[]byte(`{"name":"b","argv":["python","-u"],"parameters_schema":{"properties":{"n":{"type":"number"}}}}`))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	argv, env, stdin, err := blueprint.Arguments(f, []byte(`{"n":1e400}`))
	if strings.Join(argv, " ") != "python -u --n=1e400" || env != nil || stdin != nil || err != nil {
		t.Error(argv, env, stdin, err)
	}
	if argv, _, _, err = blueprint.Arguments(f, nil); strings.Join(argv, " ") != "python -u" || err != nil {
		t.Error(argv, err)
	}
	if _, _, _, err = blueprint.Arguments(f, []byte(`[]`)); parley.ErrorRowOf(err).Err != parley.ErrValidationFailed {
		t.Error(err)
	}
}
