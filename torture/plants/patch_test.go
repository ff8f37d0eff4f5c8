package plants_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/overlay"
)

// TestEveryPatchApplies applies each patch to the files of the repository.
func TestEveryPatchApplies(t *testing.T) {
	dir := root(t)
	names, err := overlay.Names(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		p, err := overlay.Load(dir, name)
		if err != nil {
			t.Error(err)
			continue
		}
		texts, err := overlay.Apply(dir, p)
		if err != nil {
			t.Error(err)
		}
		for file, text := range texts {
			if _, err := parser.ParseFile(token.NewFileSet(), file, text, 0); err != nil {
				t.Errorf("patch %s: %v", name, err)
			}
		}
	}
}

// TestEveryPatchHasRow compares the patches with the rows, and the rows with the tests that they
// name.
func TestEveryPatchHasRow(t *testing.T) {
	dir := root(t)
	// These are no bugs. Tests build programs with them.
	isUsed := map[string]bool{"skew": true, "newer-format": true}
	for _, r := range rows {
		isUsed[r.bug] = true
		if _, err := overlay.Load(dir, r.bug); err != nil {
			t.Error(err)
		}
		if !hasTests(t, filepath.Join(dir, filepath.FromSlash(r.pkg)), r.run) {
			t.Errorf("the row of %s names %s, which %s does not have", r.bug, r.run, r.pkg)
		}
	}
	names, err := overlay.Names(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !isUsed[name] {
			t.Errorf("patch %s has no row", name)
		}
	}
}

// hasTests reports whether the tests of a directory include those that a pattern of -run names.
func hasTests(t *testing.T, dir, pattern string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for _, file := range files {
		more, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, more...)
	}
	top, _, _ := strings.Cut(pattern, "/")
	for _, name := range strings.Split(strings.Trim(top, "^$()"), "|") {
		if !bytes.Contains(text, []byte("\nfunc "+name+"(t *testing.T)")) {
			return false
		}
	}
	return true
}
