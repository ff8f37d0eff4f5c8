package hub

import (
	"slices"
	"sync"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// holding is a claim that stands.
type holding struct {
	conversation string
	agentID      string
	serves       string // what an executor serves that may hold it
	waits        bool   // for a session that its agent has started, or for an approval
	ended        chan struct{}
	turn         int64
	seats        []parley.Participant
	executorID   string
	key          string      // of the executor that took it; empty when this hub has not seen that
	id           string      // empty when this hub was never told
	conn         *Connection // nil when nobody holds it here
	x            *executor   // of conn, whose load it is
}

// mayBe reports whether x may be the executor that took the claim, come back: of the same caller, as far as that is known, with the conversation in
// reach, and for the same agent.
func (h *holding) mayBe(x *executor) bool { return h.executorID == x.id && h.mayGoTo(x) }

// mayGoTo reports whether x, which has shown the claim's id, may go on with it. One that was taken by no executor is nobody else's.
func (h *holding) mayGoTo(x *executor) bool {
	return (h.executorID == "" || h.executorID == x.id) && (h.key == "" || h.key == x.key) && x.by.Reaches(h.conversation) && slices.Contains(x.serves, h.serves)
}

// endedLocked forgets a claim that has ended. One that another hub has ended that hub counts.
func (t *turns) endedLocked(id string, c fold.Claim, s *fold.State, foreign bool) *executor {
	reason := parley.ClaimTurnEnded
	if s.Ended != nil && s.Ended.Hash == c.Hash {
		reason = s.Ended.Reason
	}
	if !foreign {
		t.counts.ended[reason]++
	}
	if reason == parley.ClaimFinal && !foreign {
		t.counts.turns.observe(int64(s.LastAt - c.At))
	}
	h := t.holdings[c.Hash]
	if h == nil {
		return nil
	}
	delete(t.holdings, c.Hash)
	t.overLocked(h)
	conn, x := h.conn, h.x
	t.assignLocked(h, nil)
	t.hub.auth.EndClaim(c.Hash)
	if conn == nil {
		return x
	}
	conn.ended(id, c.Hash, s.CurrentTurn() > c.Turn || s.Closed())
	if conn.notify != nil && h.id != "" && !own(reason) {
		conn.notify(parley.ExecutorNotification{ClaimEnded: &parley.ClaimEndedNotification{
			ConversationID: id, AgentID: c.AgentID, Turn: c.Turn, ClaimID: h.id, Reason: reason,
		}})
	}
	return x
}

// overLocked ends the tokens of the command that runs under a claim.
func (t *turns) overLocked(h *holding) {
	if h.ended != nil {
		close(h.ended)
		t.hub.auth.AnnounceEnd()
	}
}

// own reports whether a claim that ends so is ended by its holder.
func own(reason parley.ClaimEnd) bool {
	switch reason {
	case parley.ClaimFinal, parley.ClaimYielded, parley.ClaimDeclined, parley.ClaimSilent, parley.ClaimFailed:
		return true
	}
	return false
}

// assignLocked makes conn the holder of a claim, or nobody.
func (t *turns) assignLocked(h *holding, conn *Connection) {
	if h.x != nil && !h.waits {
		h.x.load--
	}
	h.conn, h.x = conn, nil
	if conn == nil {
		return
	}
	if h.x = conn.executor.Load(); h.x != nil && !h.waits {
		h.x.load++
	}
}

// disconnect ends a connection.
func (t *turns) disconnect(c *Connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x := c.executor.Load(); x != nil {
		t.removeLocked(x)
	}
	c.endLocked()
	t.loseLocked(c)
}

// loseLocked begins the grace of the claims that a connection holds.
func (t *turns) loseLocked(c *Connection) {
	for _, hash := range c.hashes() {
		h := t.holdings[hash]
		if h == nil || h.conn != c {
			continue
		}
		t.assignLocked(h, nil)
		if p := t.desks[h.conversation]; p != nil {
			p.Lost(t.now(), hash)
			t.stepLocked(h.conversation, p, true)
		}
	}
}

// moveLocked makes x the holder of the claim with an id, if that stands and is of an agent of x.
func (t *turns) moveLocked(hash fold.ClaimHash, id string, x *executor) bool {
	h := t.holdings[hash]
	if h == nil || !h.mayGoTo(x) {
		return false
	}
	h.id, h.key = id, x.key
	if h.conn != nil && h.conn != x.conn {
		h.conn.moved(h.conversation, hash)
	}
	t.assignLocked(h, x.conn)
	if h.waits {
		h.tellWaits()
	}
	if p := t.desks[h.conversation]; p != nil {
		p.Found(hash)
	}
	seat := x.by.As(h.agentID)
	x.conn.took(h.conversation, auth.Hold{Hash: hash, Turn: h.turn, Seat: seat, Serves: h.serves, Seatless: hasNoSeat(seat, h.seats)})
	return true
}

// endOf is a claim that is to end because its executor has begun anew.
type endOf struct {
	held *holding
	hash fold.ClaimHash
}

// endAll ends claims and calls done, once, with how many.
func (t *turns) endAll(over []endOf, done func(int)) {
	if len(over) == 0 {
		done(0)
		return
	}
	var mu sync.Mutex
	left := len(over)
	one := func() {
		mu.Lock()
		left--
		last := left == 0
		mu.Unlock()
		if last {
			done(len(over))
		}
	}
	for _, o := range over {
		c, err := t.hub.conv.Pin(o.held.conversation)
		if err != nil {
			one()
			continue
		}
		cmd := fold.Command{Verb: fold.EndClaim, From: parley.HubID, Named: &o.hash, Reason: parley.ClaimDisconnected}
		c.Do(&conv.Request{Cmd: cmd, Reply: func(*fold.Decision, error) { one() }})
	}
}

// waitsLocked keeps whether the claim that stands waits for a session of its agent, or for an approval: then it holds no capacity of its executor, which is told. It gives an
// executor that has room now.
func (t *turns) waitsLocked(id string, s *fold.State) *executor {
	if s.Claim == nil {
		return nil
	}
	h := t.holdings[s.Claim.Hash]
	waits := s.Waits(s.Claim.AgentID) || s.Awaits()
	if h == nil || h.waits == waits {
		return nil
	}
	h.waits = waits
	h.tellWaits()
	switch {
	case h.x == nil:
		return nil
	case waits:
		h.x.load--
		return h.x
	}
	h.x.load++
	return nil
}

// tellWaits tells the holder whether its turn waits.
func (h *holding) tellWaits() {
	if h.conn == nil || h.conn.notify == nil || h.id == "" {
		return
	}
	h.conn.notify(parley.ExecutorNotification{ClaimWaiting: &parley.ClaimWaitingNotification{
		ConversationID: h.conversation, AgentID: h.agentID, Turn: h.turn, ClaimID: h.id, Waiting: h.waits,
	}})
}
