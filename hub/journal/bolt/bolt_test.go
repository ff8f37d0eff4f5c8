package bolt_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
	"github.com/parleyhub/parley/hub/journal/journaltest"
)

// open opens dir and closes it when t ends.
func open(t testing.TB, dir string, o *bolt.Options) *bolt.Journal {
	t.Helper()
	j, err := bolt.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func closeJournal(t testing.TB, j journal.Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// copyDir returns a copy of a directory, as it is.
func copyDir(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

func factory(o *bolt.Options) func(*testing.T) journaltest.Factory {
	return func(t *testing.T) journaltest.Factory {
		return journaltest.Factory{
			Open: func(t testing.TB) journal.Journal { return open(t, filepath.Join(t.TempDir(), "data"), o) },
			Reopen: func(t testing.TB, j journal.Journal) journal.Journal {
				closeJournal(t, j)
				return open(t, j.(*bolt.Journal).Dir(), o)
			},
			// What is on disk while no commit is under way is what kill -9 leaves.
			Crash: func(t testing.TB, j journal.Journal) journal.Journal {
				dir := copyDir(t, j.(*bolt.Journal).Dir())
				closeJournal(t, j)
				return open(t, dir, o)
			},
		}
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	journaltest.Run(t, factory(nil))
}

// With checkpoints all the time, records are found in index.db, in overlays and across both.
func TestConformanceManyCheckpoints(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	journaltest.Run(t, factory(&bolt.Options{CheckpointRecords: 3, CheckpointInterval: time.Millisecond}))
}

func TestInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir, nil)
	_, err := bolt.Open(dir, nil)
	if !errors.Is(err, journal.ErrInUse) {
		t.Errorf("second open: %v", err)
	}
	if want := fmt.Sprintf("open journal in %s: %v", dir, journal.ErrInUse); err.Error() != want {
		t.Errorf("message %q, want %q", err, want)
	}
	journaltest.Append(t, j, "c", 0, "the first still works")
	closeJournal(t, j)
	journaltest.CheckInvariants(t, open(t, dir, nil))
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "data")
	j := open(t, dir, nil)
	journaltest.Append(t, j, "c", 0, "x")
	if _, err := j.PutBlob([]byte("blob")); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if err == nil && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if size := j.Size(); size > 4<<20 {
		t.Errorf("a small journal has %d bytes", size)
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir, nil)
	journaltest.Append(t, j, "c", 0, "x")
	closeJournal(t, j)
	format := filepath.Join(dir, "FORMAT")
	for _, content := range []string{"parley journal 2\n", "parley journal", "", "something else"} {
		if err := os.WriteFile(format, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := bolt.Open(dir, nil)
		want := fmt.Sprintf("open journal in %s: %v: FORMAT in %s says %q, this version reads %q", dir, journal.ErrFormat, dir, content, "parley journal 1")
		if !errors.Is(err, journal.ErrFormat) || err.Error() != want {
			t.Errorf("format %q: %v, want %s", content, err, want)
		}
	}
	if err := os.Remove(format); err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.Open(dir, nil); !errors.Is(err, journal.ErrFormat) {
		t.Errorf("no FORMAT: %v", err)
	}
}

// A crash before the directory was complete must not keep it from being opened.
func TestCrashWhileMaking(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	closeJournal(t, open(t, whole, nil))
	for _, removed := range [][]string{
		{"FORMAT"}, {"FORMAT", "index.db"}, {"FORMAT", "index.db", "blobs"}, {"FORMAT", "index.db", "blobs", "log.db"},
	} {
		dir := copyDir(t, whole)
		for _, name := range removed {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, ".tmp-log.db"), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		j := open(t, dir, nil)
		journaltest.Append(t, j, "c", 0, "x")
		closeJournal(t, j)
		journaltest.CheckInvariants(t, open(t, dir, nil))
	}
}
