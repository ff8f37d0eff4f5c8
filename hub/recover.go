package hub

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// recover shows every open conversation to the clocks. It reads no closed one.
func (t *turns) recover() {
	defer close(t.recovered)
	var after string
	for t.hub.conv.Context().Err() == nil {
		open, err := t.hub.journal.Open(after, 1000)
		if err != nil {
			t.hub.log.Error("cannot list open conversations: their turns and limits of time wait until they are used", "error", err)
			return
		}
		if len(open) == 0 {
			t.hub.sessions.seenAll()
			return
		}
		for _, id := range open {
			t.recoverOne(id)
		}
		after = open[len(open)-1]
	}
}

// recoverOne shows an open conversation to the clocks, and what is known of its claim before anybody shows that: once or again.
func (t *turns) recoverOne(id string) {
	c, err := t.hub.conv.Pin(id)
	if err != nil {
		return // it was logged, or the hub stops
	}
	defer t.hub.conv.Unpin(c)
	var orphan *fold.ClaimHash
	c.ShowAtStart(func(s *fold.State) {
		if s.Claim != nil && s.Claim.Internal && !t.taken(s.Claim.Hash) { // else this process took it
			orphan = &s.Claim.Hash
		}
	})
	if orphan != nil && !t.hub.shared { // its executor was a part of the process that is gone
		t.run(id, fold.Command{Verb: fold.EndClaim, From: parley.HubID, Named: orphan, Reason: parley.ClaimRestarted})
	}
}

// taken reports whether a claim that stands was taken or shown since the hub was started.
func (t *turns) taken(hash fold.ClaimHash) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.holdings[hash]
	return h != nil && h.id != ""
}
