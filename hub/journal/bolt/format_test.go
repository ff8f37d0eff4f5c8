package bolt_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/parleyhub/parley/hub/journal/bolt"
)

// A directory with somebody else's files does not become a journal, and nothing is left in it.
func TestForeignDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "passwd"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := bolt.Open(dir, nil)
	if !errors.Is(err, bolt.ErrNotEmpty) {
		if err == nil {
			j.Close()
		}
		t.Fatalf("%v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 || bolt.Exists(dir) {
		t.Fatalf("left behind: %v", entries)
	}
}
