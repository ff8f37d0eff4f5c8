package generate_test

import (
	"testing"

	"github.com/parleyhub/parley/internal/golden"
	"github.com/parleyhub/parley/internal/spannames/generate"
)

const constants = "../names.go"

// TestConstantsAreThoseOfTheTable compares the constants of the nouns with the table.
func TestConstantsAreThoseOfTheTable(t *testing.T) {
	want, err := generate.Constants()
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, constants, want)
}

const (
	document = "../../../docs/reference/spans.md"
	begin    = "<!-- names: go test ./internal/spannames/generate -update -->\n"
	end      = "<!-- end of names -->\n"
)

// TestDocumentHasTheTable compares docs/reference/spans.md with the table.
func TestDocumentHasTheTable(t *testing.T) {
	golden.CompareSection(t, document, begin, end, "\n"+string(generate.Markdown())+"\n")
}
