package bolt_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
	"github.com/parleyhub/parley/hub/journal/journaltest"
)

// Whatever happens to index.db, the journal says the same.
func TestIndexIsDerived(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	dir := sample(t, 60)
	want, rec := mustOutcome(t, copyDir(t, dir))
	if rec.Records != 0 || rec.Rebuilt != nil {
		t.Fatalf("recovery of a closed journal: %+v", rec)
	}
	other := sample(t, 61)
	stale := copyDir(t, dir)
	for name, c := range map[string]struct {
		change func(t *testing.T, path string) error
		whole  bool // index.db is good, if behind
	}{
		"deleted": {change: func(_ *testing.T, path string) error { return os.Remove(path) }},
		"empty":   {change: func(_ *testing.T, path string) error { return os.Truncate(path, 0) }},
		"half":    {change: func(_ *testing.T, path string) error { return os.Truncate(path, 20_000) }},
		"text":    {change: func(_ *testing.T, path string) error { return os.WriteFile(path, []byte("not a database"), 0o600) }},
		"another journal's": {change: func(_ *testing.T, path string) error {
			b, err := os.ReadFile(filepath.Join(other, "index.db"))
			return errors.Join(err, os.WriteFile(path, b, 0o600))
		}},
		"torn": {change: func(_ *testing.T, path string) error { // pages of an older state between newer ones
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			grow(t, filepath.Dir(path))
			newer, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for at := 4 * 4096; at+4096 <= len(b); at += 3 * 4096 {
				copy(newer[at:], b[at:at+4096])
			}
			return os.WriteFile(path, newer, 0o600)
		}},
		"behind": {whole: true, change: func(t *testing.T, path string) error {
			grow(t, filepath.Dir(path))
			b, err := os.ReadFile(filepath.Join(stale, "index.db"))
			return errors.Join(err, os.WriteFile(path, b, 0o600))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			work := copyDir(t, dir)
			if err := c.change(t, filepath.Join(work, "index.db")); err != nil {
				t.Fatal(err)
			}
			want := want
			if name == "torn" || name == "behind" {
				grown := copyDir(t, dir)
				grow(t, grown)
				want, _ = mustOutcome(t, grown)
			}
			got, rec := mustOutcome(t, work)
			if got != want {
				t.Error("other contents")
			}
			if (rec.Rebuilt == nil) != c.whole || rec.Records == 0 {
				t.Errorf("recovery %+v", rec)
			}
		})
	}
}

// grow adds to a closed journal.
func grow(t *testing.T, dir string) {
	t.Helper()
	j := open(t, dir, nil)
	for i := range 200 {
		journaltest.Append(t, j, "grown", int64(i), "x")
	}
	closeJournal(t, j)
}

// More conversations than fit any cache: heads are found in index.db.
func TestHeadsBeyondMemory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	o := &bolt.Options{CheckpointRecords: 50}
	j := open(t, t.TempDir(), o)
	bolt.LimitHeads(j, 20)
	ids := make([]string, 300)
	for round := range int64(3) {
		for i := range ids {
			ids[i] = "c" + string(rune('a'+i%26)) + string(rune('a'+i/26))
			journaltest.Append(t, j, ids[i], round, "x")
		}
	}
	if n := bolt.CachedHeads(j); n > 20 {
		t.Errorf("%d heads are cached, 20 allowed", n)
	}
	for _, id := range ids {
		if h, err := j.Head(id); err != nil || h.Seq != 3 {
			t.Fatalf("head of %s: %+v, %v", id, h, err)
		}
		if _, err := journal.Append(t.Context(), j, journaltest.Batch(id, 2, "late")); err == nil {
			t.Fatalf("two batches follow seq 2 of %s", id)
		}
	}
	journaltest.CheckInvariants(t, j)
}
