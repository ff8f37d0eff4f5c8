package hub_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// crammed is a journal that has no room while full is set, and counts what it is asked for meanwhile.
type crammed struct {
	*memory.Journal
	full  atomic.Bool
	tries atomic.Int64
}

func (c *crammed) Submit(b journal.Batch) {
	b = b.Sealed()
	if c.full.Load() {
		c.tries.Add(1)
		go b.Done(journal.Head{}, journal.ErrStorageFull)
		return
	}
	c.Journal.Submit(b)
}

// TestFullStorageIsNotAskedAllTheTime: the end of a claim that cannot be written for want of room is tried about once a second, and is there when there is room.
func TestFullStorageIsNotAskedAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &crammed{Journal: newJournal(t)}
		h := startOn(t, j, nil)
		a := h.LocalPrincipal("a")
		id := create(t, h, h.LocalPrincipal("d"), &parley.CreateConversationParams{
			Participants: append(seatsOf(parley.KindAgent, "a"), parley.Participant{ID: "d",
				Kind: parley.KindHuman}), Limits: &parley.Limits{TurnTimeoutMs: 1000, MaxClaimMs: 1000},
		})
		if _, err := one(func(done func(parley.ClaimTurnResult, error)) {
			h.ClaimTurn(a, &parley.ClaimTurnParams{ConversationID: id, Turn: 1}, done)
		}); err != nil {
			t.Fatal(err)
		}
		j.full.Store(true)
		const seconds = 20
		time.Sleep(time.Second + seconds*time.Second)
		if n := j.tries.Load(); n < seconds/4 || n > 4*seconds {
			t.Errorf("in %d s it was tried %d times to write the end of a claim, want about once a second", seconds, n)
		}
		j.full.Store(false)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		found := false
		for _, e := range events(t, j, id) {
			s, _ := e.System()
			found = found || s.Kind == parley.KindClaimEnded
		}
		if !found {
			t.Error("the claim has not ended, and there is room again")
		}
	})
}
