// Package generate has the table of all names that Parley exports to OpenTelemetry: spans,
// attributes, operations and metrics. The constants of package spannames and the tables of
// docs/reference/spans.md are generated from it. After a change of the table, run:
//
//	go test ./internal/spannames/generate -update
package generate

import (
	"fmt"
	"go/format"
	"strings"
)

// Name is a row of the table.
type Name struct {
	// Go is the constant without the prefix of its kind.
	Go string
	// Name is the exported name. The name of a span begins with Name; Then is a placeholder for the
	// rest.
	Name, Then string
	// Brief describes the name. It continues "is".
	Brief string
	// Source is the specification that defines the name.
	Source Source
}

// Source is the origin of a name.
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
	// Prefix is the prefix of its constants.
	Prefix string
	Doc    string
	Names  []Name
}

// Constants returns the Go file of all constants.
func Constants() ([]byte, error) {
	var b strings.Builder
	b.WriteString("// Code generated from internal/spannames/generate by its test. DO NOT EDIT.\n\n" +
		"// Package spannames has the names of the spans, attributes and metrics that Parley exports to\n" +
		"// OpenTelemetry. Package parley has the functions that start spans, such as parley.StartSpan.\n" +
		"package spannames\n")
	for _, k := range Table {
		fmt.Fprintf(&b, "\n// %s\nconst (\n", k.Doc)
		for _, n := range k.Names {
			fmt.Fprintf(&b, "\t// %s%s is %s\n\t%[1]s%[2]s = %[4]q\n", k.Prefix, n.Go, n.comment(), n.Name)
		}
		b.WriteString(")\n")
	}
	return format.Source([]byte(b.String()))
}

// comment returns the description and the source of the constant.
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

// Markdown returns the tables of docs/reference/spans.md.
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
