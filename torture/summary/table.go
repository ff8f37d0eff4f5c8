package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/parleyhub/parley/internal/promise"
)

// row is what all tests together have to say of one promise.
type row struct {
	promise.Tried
	tests   []string
	figures []string
	left    []string
}

// table has a row for each promise, P1 first.
type table struct {
	rows [promise.Last]row
}

// take adds what a line says, if it is one of a test about a promise.
func (t *table) take(line string) error {
	_, text, ok := strings.Cut(line, promise.Mark+"{")
	if !ok {
		return nil
	}
	var l promise.Line
	if err := json.Unmarshal([]byte("{"+text), &l); err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	var i int
	if _, err := fmt.Sscanf(l.Promise, "P%d", &i); err != nil || i < 1 || i > int(promise.Last) {
		return fmt.Errorf("%s: there is no promise %q", line, l.Promise)
	}
	r := &t.rows[i-1]
	if l.Left != "" {
		r.left = append(r.left, l.Test+": "+l.Left)
		return nil
	}
	r.Faults += l.Faults
	r.Operations += l.Operations
	r.Unknown += l.Unknown
	r.Violations += l.Violations
	r.tests = append(r.tests, l.Test)
	if l.Figure != "" {
		r.figures = append(r.figures, l.Figure)
	}
	return nil
}

// print shows one line for each promise.
func (t *table) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "promise\tfaults\toperations\tunknown\tviolations\t  tests")
	for i, r := range t.rows {
		if len(r.tests) == 0 {
			fmt.Fprintf(w, "P%d\t\t\t\t\t  not tried%s\n", i+1, leftOut(r.left))
			continue
		}
		fmt.Fprintf(w, "P%d\t%d\t%d\t%d\t%d\t  %s%s\n", i+1, r.Faults, r.Operations, r.Unknown, r.Violations,
			strings.Join(r.tests, ", "), leftOut(r.left))
	}
	w.Flush() // a failure of out shows in nothing else either
	for i, r := range t.rows {
		for _, f := range r.figures {
			fmt.Fprintf(out, "P%d: %s\n", i+1, f)
		}
	}
}

func leftOut(left []string) string {
	if len(left) == 0 {
		return ""
	}
	return " (left out: " + strings.Join(left, "; ") + ")"
}

// verdict says which promises were broken, and, unless only a part was run, which nothing has
// tried.
func (t *table) verdict(part bool) error {
	var bad []string
	for i, r := range t.rows {
		switch {
		case r.Violations > 0:
			bad = append(bad, fmt.Sprintf("P%d was broken %d times", i+1, r.Violations))
		case len(r.tests) == 0 && len(r.left) == 0 && !part:
			bad = append(bad, fmt.Sprintf("P%d was not tried", i+1))
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("%s", strings.Join(bad, "; "))
	}
	return nil
}

// The marks between which a file has the figures of the last run.
const (
	markFrom = "<!-- figures -->\n"
	markTo   = "<!-- /figures -->\n"
)

// record puts the figures into a file.
func (t *table) record(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	from, to := bytes.Index(b, []byte(markFrom)), bytes.Index(b, []byte(markTo))
	if from < 0 || to < from {
		return fmt.Errorf("%s: expected the marks %q and %q", file, markFrom, markTo)
	}
	var out bytes.Buffer
	out.Write(b[:from+len(markFrom)])
	fmt.Fprintln(&out, "| | faults | operations | unknown | violations | tests | figures |")
	fmt.Fprintln(&out, "|---|---|---|---|---|---|---|")
	for i, r := range t.rows {
		fmt.Fprintf(&out, "| P%d | %d | %d | %d | %d | %s | %s |\n",
			i+1, r.Faults, r.Operations, r.Unknown, r.Violations, strings.Join(append(r.tests, r.left...), ", "),
			strings.Join(r.figures, "; "))
	}
	out.Write(b[to:])
	return os.WriteFile(file, out.Bytes(), 0o644)
}
