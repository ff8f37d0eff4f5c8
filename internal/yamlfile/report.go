package yamlfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Finding is a fault of a field in a named file.
type Finding struct {
	File string
	// Line and Column start at 1.
	Line, Column int
	// Field is the path of the invalid field, or "" for the whole file.
	Field string
	// What describes the expected value.
	What string
}

// String returns one line, such as "triage.yaml:3:5: limits.maxTurns: expected an integer from 1 to
// 1000000".
func (f Finding) String() string {
	at := fmt.Sprintf("%s:%d:%d: ", f.File, f.Line, f.Column)
	if f.Field != "" {
		at += f.Field + ": "
	}
	return at + f.What
}

// Findings are all faults of a file.
type Findings []Finding

// Error joins the findings on one line.
func (f Findings) Error() string {
	lines := make([]string, len(f))
	for i, finding := range f {
		lines[i] = finding.String()
	}
	return strings.Join(lines, "; ")
}

// Sort sorts the findings by position.
func (f Findings) Sort() {
	slices.SortStableFunc(f, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
