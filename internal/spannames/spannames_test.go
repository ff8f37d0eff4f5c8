package spannames_test

import (
	"testing"

	"github.com/parleyhub/parley/internal/golden"
	"github.com/parleyhub/parley/internal/spannames"
)

const constants = "../../spannames.go"

// TestConstantsAreThoseOfTheTable compares the constants of the nouns with the table.
func TestConstantsAreThoseOfTheTable(t *testing.T) {
	want, err := spannames.Constants()
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, constants, want)
}

const (
	document = "../../docs/reference/spans.md"
	begin    = "<!-- names: go test ./internal/spannames -update -->\n"
	end      = "<!-- end of names -->\n"
)

// TestDocumentHasTheTable compares docs/reference/spans.md with the table.
func TestDocumentHasTheTable(t *testing.T) {
	golden.CompareSection(t, document, begin, end, "\n"+string(spannames.Markdown())+"\n")
}
