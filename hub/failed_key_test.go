package hub_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/promise"
)

// TestKeyOfAFailedAppend: the key of an append that is not in the log is free: the retry is written, and not met as a duplicate of nothing.
func TestKeyOfAFailedAppend(t *testing.T) {
	const rounds = 20
	pipelined(t, parley.PolicyOpen, func(t *testing.T, h *hub.Hub, j *memory.Journal, a, _ *hub.Principal, id string) {
		violations := 0
		for i := range rounds {
			q := message(id, fmt.Sprint("m", i), parley.FinalityTurn, fmt.Sprint("k", i))
			j.FailNext(journal.ErrStorageFull)
			refused(t, (<-post(h, a, q)).err, parley.ErrStorageFull)
			synctest.Wait()
			retry := post(h, a, q)
			select {
			case <-time.After(time.Minute): // of the bubble's time
				// so that what the retry waits for comes, and the hub can be closed
				post(h, a, message(id, "other", parley.FinalityTurn, ""))
				t.Fatal("the retry of an append that was refused is not answered: it waits for what is not in the log")
			case first := <-retry:
				again := <-post(h, a, q)
				if first.err != nil || first.Duplicate || first.Seq != int64(i+2) || again.err != nil || !again.Duplicate ||
					again.Seq != first.Seq {
					violations++
					t.Errorf("the retry of an append that was refused: %+v, and then %+v; want seq %d, written by the first", first, again, i+2)
				}
			}
		}
		promise.ID(3).Kept(t, promise.Tried{Faults: rounds, Operations: 3 * rounds, Violations: violations})
	})
}
