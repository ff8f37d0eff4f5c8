package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
	"github.com/parleyhub/parley/hub/journal/journaltest"
)

// The steps of Compact, and what is after them.
var compactSteps = []string{"copy", "verify", "log", "index", "blobs", "done"}

// fillLoose writes a log that has much room that it does not need, and two blobs.
func fillLoose(t testing.TB, dir string) (kept, dropped journal.Hash) {
	t.Helper()
	j := open(t, dir, &bolt.Options{CheckpointRecords: 50})
	for i := range 300 { // a commit each leaves half-used pages behind
		journaltest.Append(t, j, fmt.Sprint("c", i%7), int64(i/7), fmt.Sprintf("event %d %s", i, strings.Repeat("x", i*37%3000)))
	}
	b := journaltest.Batch("final", 0, "the end")
	b.Final, b.Labels = true, []string{"p:ann"}
	if _, err := journal.Append(t.Context(), j, b); err != nil {
		t.Fatal(err)
	}
	var err error
	if kept, err = j.PutBlob([]byte("kept")); err != nil {
		t.Fatal(err)
	}
	if dropped, err = j.PutBlob([]byte("dropped")); err != nil {
		t.Fatal(err)
	}
	closeJournal(t, j)
	return kept, dropped
}

// recordsOf returns everything that a journal holds, as one text.
func recordsOf(t testing.TB, j journal.Journal) string {
	t.Helper()
	journaltest.CheckInvariants(t, j)
	records, err := j.Scan(0, 1<<20, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	labeled, err := j.Labeled("p:ann", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(records, labeled)
}

func TestCompact(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	dir := t.TempDir()
	kept, dropped := fillLoose(t, dir)
	j := open(t, dir, nil)
	want := recordsOf(t, j)
	done, err := j.Compact(t.Context(), &bolt.CompactOptions{KeepBlob: func(h journal.Hash) bool { return h == kept }})
	if err != nil {
		t.Fatal(err)
	}
	if done.After >= done.Before || done.Blobs != 1 || done.BlobBytes != int64(len("dropped")) {
		t.Errorf("%+v", done)
	}
	if _, err := journal.Append(t.Context(), j, journaltest.Batch("c0", 43, "late")); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("an append after Compact: %v", err)
	}
	closeJournal(t, j)

	j = open(t, dir, nil)
	if got := recordsOf(t, j); got != want {
		t.Error("the compacted log holds something else")
	}
	if r := j.Recovery(); r.Rebuilt != nil || r.Records != 0 {
		t.Errorf("the new index was not taken: %+v", r)
	}
	if size := j.Size(); size != done.After {
		t.Errorf("%d bytes, Compact said %d", size, done.After)
	}
	if _, err := j.GetBlob(kept); err != nil {
		t.Error(err)
	}
	if _, err := j.GetBlob(dropped); !errors.Is(err, journal.ErrNoBlob) {
		t.Error(err)
	}
	journaltest.Append(t, j, "c0", 43, "and it goes on")
}

// TestCompactKilled: kill -9 before each step, and after the last, leaves a log with everything in it.
func TestCompactKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	for _, step := range compactSteps {
		t.Run(step, func(t *testing.T) {
			dir := t.TempDir()
			fillLoose(t, dir)
			j := open(t, dir, nil)
			want := recordsOf(t, j)
			closeJournal(t, j)
			cmd, _ := child(t, childCompact, dir, step)
			cmd.Wait()
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
				t.Fatalf("the child was not killed: %v", cmd.ProcessState)
			}
			j = open(t, dir, nil)
			if got := recordsOf(t, j); got != want {
				t.Error("the log holds something else")
			}
			if r := j.Recovery(); r.Rebuilt != nil {
				t.Errorf("the index did not fit the log: %v", r.Rebuilt)
			}
			checkNoTemps(t, dir)
			if _, err := j.Compact(t.Context(), nil); err != nil {
				t.Errorf("once more: %v", err)
			}
		})
	}
}

// compactAndDie compacts a directory and is killed before a step.
func compactAndDie(dir, step string) error {
	j, err := bolt.Open(dir, nil)
	if err != nil {
		return err
	}
	o := &bolt.CompactOptions{}
	o.AtStep(func(s string) error {
		if s == step {
			return errors.Join(syscall.Kill(os.Getpid(), syscall.SIGKILL), context.Canceled)
		}
		return nil
	})
	_, err = j.Compact(context.Background(), o)
	return errors.Join(err, errors.New("nobody has killed this process"))
}

func checkNoTemps(t testing.TB, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, ".tmp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestCompactFails: what fails before the new files take their place leaves the old ones.
func TestCompactFails(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	for _, step := range []string{"copy", "verify", "log"} {
		for _, fault := range []error{syscall.ENOSPC, errors.New("some fault")} {
			dir := t.TempDir()
			fillLoose(t, dir)
			before, err := os.ReadFile(filepath.Join(dir, "log.db"))
			if err != nil {
				t.Fatal(err)
			}
			j := open(t, dir, nil)
			o := &bolt.CompactOptions{}
			o.AtStep(func(s string) error {
				if s == step {
					return fault
				}
				return nil
			})
			_, err = j.Compact(t.Context(), o)
			if !errors.Is(err, fault) || errors.Is(err, journal.ErrStorageFull) != (fault == syscall.ENOSPC) {
				t.Errorf("%s: %v", step, err)
			}
			closeJournal(t, j)
			after, err := os.ReadFile(filepath.Join(dir, "log.db"))
			if err != nil || string(after) != string(before) {
				t.Errorf("%s: the old log is another, %v", step, err)
			}
			checkNoTemps(t, dir)
			journaltest.CheckInvariants(t, open(t, dir, nil))
		}
	}
}

// TestCompactRefusesDamage: a damaged log is not copied.
func TestCompactRefusesDamage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	dir := t.TempDir()
	fillLoose(t, dir)
	path := filepath.Join(dir, "log.db")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(data), "event 100 ")
	data[at] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	j := open(t, dir, nil)
	var damage *journal.DamageError
	if _, err := j.Compact(t.Context(), nil); !errors.As(err, &damage) {
		t.Errorf("%v", err)
	}
}
