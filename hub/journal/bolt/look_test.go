package bolt_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
)

// TestLook: Look reports what is in a directory, and does not change it.
func TestLook(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	look := func(exists, inUse bool, want error) {
		t.Helper()
		e, u, err := bolt.Look(dir)
		if e != exists || u != inUse || !errors.Is(err, want) {
			t.Errorf("exists %v, in use %v, %v; expected %v, %v, %v", e, u, err, exists, inUse, want)
		}
	}
	look(false, false, fs.ErrNotExist)
	j, err := bolt.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	look(true, true, nil)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	look(true, false, nil)
	if j, err = bolt.Open(dir, nil); err != nil {
		t.Fatalf("after the look: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(dir, "FORMAT"), []byte("parley journal 99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	look(true, false, journal.ErrFormat)

	dir = t.TempDir() // of a copy without its lock
	if err := os.WriteFile(filepath.Join(dir, "FORMAT"), []byte("parley journal 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	look(true, false, nil)
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the look has left something: %v", entries)
	}

	dir = t.TempDir()
	look(false, false, nil)
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	look(false, false, bolt.ErrNotEmpty)
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the look has left something: %v", entries)
	}
}
