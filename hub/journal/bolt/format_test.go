package bolt_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
)

// A directory with somebody else's files does not become a journal, and nothing is left in it.
func TestForeignDirectory(t *testing.T) {
	t.Parallel()
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

// A directory of another version is left as it is: nothing is made in it, not even to lock it.
func TestNewerDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "FORMAT"), []byte("parley journal 99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.Open(dir, nil); !errors.Is(err, journal.ErrFormat) {
		t.Fatalf("%v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Fatalf("left behind: %v", entries)
	}
}

// The version is looked at again under the lock: a directory that got a newer one while the lock was waited for is left as it is too.
func TestNewerUnderTheLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	err := bolt.OpenUnderLock(dir, func() {
		if err := os.WriteFile(filepath.Join(dir, "FORMAT"), []byte("parley journal 99\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	if !errors.Is(err, journal.ErrFormat) {
		t.Fatalf("%v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 { // with LOCK
		t.Fatalf("left behind: %v", entries)
	}
}
