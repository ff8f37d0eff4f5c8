package spannames_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/spannames"
)

var update = flag.Bool("update", false, "write the files that are made of the table")

const constants = "../../spannames.go"

// TestConstantsAreThoseOfTheTable compares the constants of the nouns with the table.
func TestConstantsAreThoseOfTheTable(t *testing.T) {
	want, err := spannames.Constants()
	if err != nil {
		t.Fatal(err)
	}
	same(t, constants, want)
}

// same compares a file with what it should be, or makes it so with -update.
func same(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not what the table says. Run: go test ./internal/spannames -update", path)
	}
}

const (
	document = "../../docs/telemetry.md"
	begin    = "<!-- names: go test ./internal/spannames -update -->\n"
	end      = "<!-- end of names -->\n"
)

// TestDocumentHasTheTable compares docs/telemetry.md with the table.
func TestDocumentHasTheTable(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatalf("%s has no place for the table", document)
	}
	same(t, document, []byte(before+begin+"\n"+string(spannames.Markdown())+"\n"+end+after))
}
