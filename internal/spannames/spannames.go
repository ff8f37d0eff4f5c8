// Package spannames is the table of every name that Parley tells OpenTelemetry: spans, attributes,
// values and metrics. From it come the constants of the nouns (spannames.go) and the table of
// docs/telemetry.md, which the test of this package keeps true:
//
//	go test ./internal/spannames -update
package spannames

import (
	"fmt"
	"go/format"
	"strings"
)

// Name is a row of the table.
type Name struct {
	// Go is the constant that holds it, without what its kind puts in front of all.
	Go string
	// Name is what is told. Of a span it is what its name begins with; Then is the rest.
	Name, Then string
	// Brief says what it is of.
	Brief string
	// Source is who has given it this meaning.
	Source Source
}

// Source is where a name comes from.
type Source string

// The sources. Those of OpenTelemetry are named with the version in which the name was read.
const (
	Parley      Source = "Parley"
	GenAI       Source = "GenAI semantic conventions 1.41 (Development)"
	Conventions Source = "semantic conventions 1.41"
)

// Kind is a part of the table.
type Kind struct {
	Title string
	// Prefix is what its constants begin with.
	Prefix string
	Doc    string
	Names  []Name
}

// Constants gives the Go file of all names.
func Constants() ([]byte, error) {
	var b strings.Builder
	b.WriteString("// Code generated from internal/spannames by its test. DO NOT EDIT.\n\npackage parley\n")
	for _, k := range Table {
		fmt.Fprintf(&b, "\n// %s\nconst (\n", k.Doc)
		for _, n := range k.Names {
			fmt.Fprintf(&b, "\t// %s%s is %s\n\t%[1]s%[2]s = %[4]q\n", k.Prefix, n.Go, n.comment(), n.Name)
		}
		b.WriteString(")\n")
	}
	return format.Source([]byte(b.String()))
}

// comment says what the constant is, and where it comes from if not from here.
func (n Name) comment() string {
	s := n.Brief + "."
	if n.Then != "" {
		s += fmt.Sprintf(" The whole name is %q.", n.Name+n.Then)
	}
	if n.Source != Parley {
		s += " From the " + string(n.Source) + "."
	}
	return s
}

// Markdown gives the tables of docs/telemetry.md.
func Markdown() []byte {
	var b strings.Builder
	for i, k := range Table {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "### %s\n\n| Name | What it is | From |\n|---|---|---|\n", k.Title)
		for _, n := range k.Names {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", n.Name+n.Then, n.Brief, n.Source)
		}
	}
	return []byte(b.String())
}
