package bolt_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/parleyhub/parley/hub/journal/bolt"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/internal/promise"
)

// TestCrashAfterCheckpoint: records that are committed while a checkpoint is being written are not in it, and are read from the log after a crash. Each is
// of a conversation of its own: where a conversation continues, its next record shows that one is missing.
func TestCrashAfterCheckpoint(t *testing.T) {
	t.Parallel()
	const every, meanwhile = 10, 7
	o := &bolt.Options{CheckpointRecords: every, CheckpointInterval: time.Hour}
	j := open(t, t.TempDir(), o)
	for round := range 3 {
		hold, err := j.IndexDB().Begin(true) // the checkpoint waits for it
		if err != nil {
			t.Fatal(err)
		}
		say := func(what string, n int) {
			for i := range n {
				journaltest.Append(t, j, fmt.Sprintf("%s-%d-%d", what, round, i), 0, "x")
			}
		}
		say("before", every-int(j.Last())%every) // what was said meanwhile before counts too
		until(t, func() bool { return bolt.Flushing(j) })
		say("meanwhile", meanwhile)
		if err := hold.Rollback(); err != nil {
			t.Fatal(err)
		}
		until(t, func() bool { return !bolt.Flushing(j) })
		crashed := open(t, copyDir(t, j.Dir()), o)
		journaltest.CheckInvariants(t, crashed)
		if got := crashed.Recovery(); got.Records != meanwhile || got.Rebuilt != nil {
			t.Errorf("round %d: recovery %+v, want the %d records that came meanwhile", round, got, meanwhile)
		}
		closeJournal(t, crashed)
	}
	promise.ID(1).Kept(t, promise.Tried{Faults: 3, Operations: int(j.Last())})
}

// until waits for what another goroutine is about to do.
func until(t *testing.T, done func() bool) {
	t.Helper()
	for began := time.Now(); !done(); runtime.Gosched() {
		if time.Since(began) > 5*time.Minute {
			t.Fatal("the checkpoint neither began nor ended")
		}
	}
}
