package turns

import (
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/auth"
)

// heldClaim is a current claim.
type heldClaim struct {
	conversation string
	agentID      string
	serves       string        // what an executor must serve to hold it
	waits        bool          // for a session that its agent started, or for an approval
	commandEnd   chan struct{} // closed at its end, for the token of the command that runs under it
	turn         int64
	seats        []parley.Participant
	executorID   string
	key          string      // of the executor that took it; empty if this hub did not see that
	id           string      // empty if no call to this hub named it
	conn         *Connection // nil while no connection of this hub holds it
	x            *executor   // of conn, in whose load it counts
}

// holdOf returns the claim as a connection remembers it, for p.
func (h *heldClaim) holdOf(hash eventdata.ClaimHash, p *auth.Principal) auth.Hold {
	return auth.Hold{Hash: hash, Turn: h.turn, Seat: p, Serves: h.serves, Seatless: hasNoSeat(p, h.seats)}
}

// isBy reports whether x may be the executor that took the claim, after a new registration: it has the
// same owner, as far as that is known, reaches the conversation and serves the agent.
func (h *heldClaim) isBy(x *executor) bool { return h.executorID == x.id && h.mayMoveTo(x) }

// mayMoveTo reports whether x, which has named the claim, may continue it. A claim that no executor took
// does not move to another owner.
func (h *heldClaim) mayMoveTo(x *executor) bool {
	return (h.executorID == "" || h.executorID == x.id) && (h.key == "" || h.key == x.key) &&
		x.by.Reaches(h.conversation) && slices.Contains(x.serves, h.serves)
}

// notifyWaiting notifies the holder whether its turn waits.
func (h *heldClaim) notifyWaiting() {
	if h.conn == nil || h.conn.notify == nil || h.id == "" {
		return
	}
	h.conn.notify(parley.ExecutorNotification{ClaimWaiting: &parley.ClaimWaitingNotification{
		ConversationID: h.conversation, AgentID: h.agentID, Turn: h.turn, ClaimID: h.id, Waiting: h.waits,
	}})
}

// endClaimLocked removes a claim that is over, and returns the executor that held it. The hub that ended
// it counts it.
func (d *Dispatcher) endClaimLocked(id string, c fold.Claim, s *fold.State, foreign bool) *executor {
	reason := parley.ClaimTurnEnded
	if s.Ended != nil && s.Ended.Hash == c.Hash {
		reason = s.Ended.Reason
	}
	if !foreign {
		d.counts.ended[reason]++
	}
	if reason == parley.ClaimFinal && !foreign {
		d.counts.turns.observe(int64(s.LastAt - c.At))
	}
	h := d.claims[c.Hash]
	if h == nil {
		return nil
	}
	delete(d.claims, c.Hash)
	d.endCommandLocked(h)
	conn, x := h.conn, h.x
	d.assignLocked(h, nil)
	d.auth.EndClaim(c.Hash)
	if conn == nil {
		return x
	}
	conn.endHold(id, c.Hash, s.CurrentTurn() > c.Turn || s.Closed())
	if conn.notify != nil && h.id != "" && !isByHolder(reason) {
		conn.notify(parley.ExecutorNotification{ClaimEnded: &parley.ClaimEndedNotification{
			ConversationID: id, AgentID: c.AgentID, Turn: c.Turn, ClaimID: h.id, Reason: reason,
		}})
	}
	return x
}

// endCommandLocked ends the token of the command that runs under a claim.
func (d *Dispatcher) endCommandLocked(h *heldClaim) {
	if h.commandEnd != nil {
		close(h.commandEnd)
		d.auth.AnnounceEnd()
	}
}

// isByHolder reports whether the holder itself ends a claim for this reason.
func isByHolder(reason parley.ClaimEnd) bool {
	switch reason {
	case parley.ClaimFinal, parley.ClaimYielded, parley.ClaimDeclined, parley.ClaimSilent, parley.ClaimFailed:
		return true
	}
	return false
}

// assignLocked makes conn the holder of a claim; nil means that no connection holds it.
func (d *Dispatcher) assignLocked(h *heldClaim, conn *Connection) {
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

// updateWaitLocked updates whether the current claim waits for a session of its agent or an approval.
// While it waits, it uses no capacity of its executor, which is notified. It returns an executor that
// has room now, or nil.
func (d *Dispatcher) updateWaitLocked(s *fold.State) *executor {
	if s.Claim == nil {
		return nil
	}
	h := d.claims[s.Claim.Hash]
	waits := s.Waits(s.Claim.AgentID) || s.Awaits()
	if h == nil || h.waits == waits {
		return nil
	}
	h.waits = waits
	h.notifyWaiting()
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

// disconnect ends a connection.
func (d *Dispatcher) disconnect(c *Connection) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if x := c.executor.Load(); x != nil {
		d.removeExecutorLocked(x)
	}
	c.endLocked()
	d.startGraceLocked(c)
}

// startGraceLocked starts the grace period of the claims that a connection holds.
func (d *Dispatcher) startGraceLocked(c *Connection) {
	for _, hash := range c.holdHashes() {
		h := d.claims[hash]
		if h == nil || h.conn != c {
			continue
		}
		d.assignLocked(h, nil)
		if t := d.turns[h.conversation]; t != nil {
			t.Lost(d.now(), hash)
			d.stepLocked(h.conversation, t, true)
		}
	}
}

// moveClaimLocked makes x the holder of the claim with an id, if the claim is current and of an agent of
// x.
func (d *Dispatcher) moveClaimLocked(hash eventdata.ClaimHash, id string, x *executor) bool {
	h := d.claims[hash]
	if h == nil || !h.mayMoveTo(x) {
		return false
	}
	h.id, h.key = id, x.key
	if h.conn != nil && h.conn != x.conn {
		h.conn.moveHold(h.conversation, hash)
	}
	d.assignLocked(h, x.conn)
	if h.waits {
		h.notifyWaiting()
	}
	if t := d.turns[h.conversation]; t != nil {
		t.Found(hash)
	}
	x.conn.addHold(h.conversation, h.holdOf(hash, x.by.As(h.agentID)))
	return true
}
