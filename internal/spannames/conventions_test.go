package spannames_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/spannames"
)

// conventions is the newest version of the semantic conventions in the otel module that has those
// for GenAI.
const conventions = "go.opentelemetry.io/otel/semconv/v1.41.0"

var (
	conventionKey   = regexp.MustCompile(`attribute\.Key\("([a-z0-9_.]+)"\)`)
	conventionValue = regexp.MustCompile(`GenAIOperationNameKey\.String\("([a-z_]+)"\)`)
)

// TestNamesAreThoseOfTheConventions: what is said to be from them is there, and what is said to be
// Parley's own has a name of its own.
func TestNamesAreThoseOfTheConventions(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", conventions).Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "attribute_group.go"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range append(conventionKey.FindAllSubmatch(text, -1), conventionValue.FindAllSubmatch(text, -1)...) {
		known[string(m[1])] = true
	}
	seen := map[string]bool{}
	for _, k := range spannames.Table {
		for _, n := range k.Names {
			id := k.Prefix + n.Name
			if seen[id] {
				t.Errorf("%s is there twice", n.Name)
			}
			seen[id] = true
			checkSource(t, k.Prefix, n, known)
		}
	}
}

func checkSource(t *testing.T, kind string, n spannames.Name, known map[string]bool) {
	t.Helper()
	if n.Brief == "" || strings.HasSuffix(n.Brief, ".") {
		t.Errorf("%s: a brief begins a sentence and has no end", n.Name)
	}
	ours := n.Source == spannames.Parley
	switch kind {
	case "Attr":
		if !ours && !known[n.Name] || ours && !strings.HasPrefix(n.Name, "parley.") {
			t.Errorf("the attribute %s is not from %s", n.Name, n.Source)
		}
	case "Operation":
		if !known[n.Name] {
			t.Errorf("the conventions know no operation %s", n.Name)
		}
	case "Span": // of which the conventions begin with the operation
		if operation, _, _ := strings.Cut(n.Name, " "); !ours && !known[operation] {
			t.Errorf("the conventions know no span %s", n.Name)
		}
	}
}
