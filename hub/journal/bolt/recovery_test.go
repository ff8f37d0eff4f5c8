package bolt_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"go.etcd.io/bbolt"
)

// unindexed fills a new journal, of which index.db has nothing, and returns a copy as kill -9 leaves it.
func unindexed(t *testing.T, records int) string {
	t.Helper()
	j := open(t, filepath.Join(t.TempDir(), "data"), &bolt.Options{CheckpointRecords: 1 << 30, CheckpointInterval: time.Hour})
	for i := range records {
		b := journaltest.Batch(fmt.Sprint("conversation-", i%20), int64(i/20), fmt.Sprint("event ", i))
		b.Labels = []string{fmt.Sprint("participant:", i%5)}
		done := make(chan error, 1)
		b.Done = func(_ journal.Head, err error) { done <- err }
		j.Submit(b)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	return copyDir(t, j.Dir())
}

// Killed while it reads the end of the log into index.db, at any write, the journal opens as if it had not been.
func TestCrashWhileOpening(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	dir := unindexed(t, 750)
	want, rec := mustOutcome(t, copyDir(t, dir))
	if rec.Records != 750 || rec.Rebuilt != nil {
		t.Fatalf("recovery %+v", rec)
	}
	work := copyDir(t, dir)
	var states [][]byte // of index.db
	err := bolt.OpenHooked(work, 75, func(db *bbolt.DB) {
		hookWrites(t, db, func(b []byte, off int64, write writeAt) (int, error) {
			n, err := write(b, off)
			state, e := os.ReadFile(filepath.Join(work, "index.db"))
			if e != nil {
				t.Error(e)
			}
			states = append(states, state)
			return n, err
		})
	})
	if err != nil || len(states) < 20 {
		t.Fatal(len(states), err)
	}
	records := make(map[int]bool)
	for i, state := range states {
		crashed := copyDir(t, dir)
		if err := os.WriteFile(filepath.Join(crashed, "index.db"), state, 0o600); err != nil {
			t.Fatal(err)
		}
		got, rec := mustOutcome(t, crashed)
		if got != want || rec.Rebuilt != nil {
			t.Errorf("after write %d of %d: recovery %+v, the same contents: %t", i, len(states), rec, got == want)
		}
		records[rec.Records] = true
	}
	if len(records) < 3 {
		t.Errorf("always the same records were read from the end of the log: %v", records)
	}
}

// A saved state is checked when it is asked for: one that is damaged is lost, and nothing else is.
func TestDamagedState(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	dir := sample(t, 60)
	j := open(t, dir, nil)
	lost, whole := bytes.Repeat([]byte("lost "), 10_000), bytes.Repeat([]byte("whole"), 10_000)
	for id, state := range map[string][]byte{"conversation-1": lost, "conversation-2": whole} {
		if err := j.SaveState(id, 3, state); err != nil {
			t.Fatal(err)
		}
	}
	closeJournal(t, j)
	want, _ := mustOutcome(t, copyDir(t, dir))
	path := filepath.Join(dir, "index.db")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, lost)
	if at < 0 || bytes.Contains(b[at+1:], lost) {
		t.Fatal("the state is not in index.db once")
	}
	b[at+len(lost)/2] ^= 4
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	j = open(t, dir, nil)
	if seq, state, err := j.LoadState("conversation-1"); seq != 0 || state != nil || err != nil {
		t.Errorf("the damaged state: %d, %d bytes, %v", seq, len(state), err)
	}
	if seq, state, err := j.LoadState("conversation-2"); seq != 3 || !bytes.Equal(state, whole) || err != nil {
		t.Errorf("the other state: %d, %d bytes, %v", seq, len(state), err)
	}
	if err := j.SaveState("conversation-1", 4, whole); err != nil {
		t.Fatal(err)
	}
	closeJournal(t, j)
	j = open(t, dir, nil)
	if seq, state, err := j.LoadState("conversation-1"); seq != 4 || !bytes.Equal(state, whole) || err != nil {
		t.Errorf("the state that took its place: %d, %d bytes, %v", seq, len(state), err)
	}
	closeJournal(t, j)
	if got, rec := mustOutcome(t, dir); got != want || rec.Rebuilt != nil {
		t.Errorf("recovery %+v, the same contents: %t", rec, got == want)
	}
}

// A broken chain is named by each Open that comes to it, the first of several: nothing behind it gets into index.db.
func TestBrokenChainIsNotIndexed(t *testing.T) {
	t.Parallel()
	dir := sample(t, 10)
	tamper(t, dir, 41, func(r []byte) { r[len(r)-1]++ })
	twice := copyDir(t, dir)
	tamper(t, twice, 60, func(r []byte) { r[11] += 2 }) // seq
	for i, every := range []int{1000, 45, 7, 1, 1000, 45, 7, 1} {
		work := copyDir(t, dir)
		if i >= 4 {
			work = copyDir(t, twice)
		}
		if err := os.Remove(filepath.Join(work, "index.db")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, err := bolt.Open(work, &bolt.Options{CheckpointRecords: every})
			var damage *journal.DamageError
			if !errors.As(err, &damage) || damage.File != "log.db" || damage.Position != 41 {
				t.Errorf("a checkpoint every %d records: %v, want damage at 41", every, err)
			}
		}
	}
}
