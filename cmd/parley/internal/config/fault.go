package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Where is the kind of place of a value.
type Where string

// The kinds, in order of precedence.
const (
	FromFlag    Where = "flag"
	FromEnv     Where = "env"
	FromFile    Where = "file"
	FromDefault Where = "default"
)

// Origin is the place of the value of one setting.
type Origin struct {
	Where Where
	// Name is that of the flag (with dashes), of the variable or of the file.
	Name string
	// Line and Column, from 1, are the position in the file.
	Line, Column int
}

// String returns a text such as "flag --listen", "env PARLEY_LISTEN", "parley.yaml:3" or "default".
func (o Origin) String() string {
	switch o.Where {
	case FromFile:
		return fmt.Sprintf("%s:%d", o.Name, o.Line)
	case FromFlag, FromEnv:
		return string(o.Where) + " " + o.Name
	}
	return string(FromDefault)
}

// Fault is one fault of a configuration. It never quotes a value, which could be a secret.
type Fault struct {
	Origin
	// Setting is the name in the file, or "" for the whole file.
	Setting string
	// What describes the expected value.
	What string
}

// String returns one line, such as "parley.yaml:3:5: limits.streams: expected an integer from 1 to
// 1000000".
func (f Fault) String() string {
	switch {
	case f.Where == FromFile && f.Setting != "":
		return fmt.Sprintf("%s:%d:%d: %s: %s", f.Name, f.Line, f.Column, f.Setting, f.What)
	case f.Where == FromFile:
		return fmt.Sprintf("%s:%d:%d: %s", f.Name, f.Line, f.Column, f.What)
	case f.Name != "":
		return f.Name + ": " + f.What
	}
	return f.What
}

// Faults are all faults, in the order of the file, then the environment, then the flags.
type Faults []Fault

// Error joins the faults on one line.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "; ")
}

var order = []Where{FromFile, FromEnv, FromFlag, FromDefault}

func (f Faults) sort() {
	slices.SortStableFunc(f, func(a, b Fault) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Where), slices.Index(order, b.Where)),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
		)
	})
}
