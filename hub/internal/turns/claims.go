package turns

import (
	"slices"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
)

type heldClaim struct {
	hash         eventdata.ClaimHash
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
func (h *heldClaim) holdOf(p *auth.Principal) auth.Hold {
	return auth.Hold{Hash: h.hash, Turn: h.turn, Seat: p, Serves: h.serves, Seatless: hasNoSeat(p, h.seats)}
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

// assign makes conn the holder of the claim; nil means that no connection holds it.
func (h *heldClaim) assign(conn *Connection) {
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

// moveTo is assign for another connection than the one on which the claim was taken.
func (h *heldClaim) moveTo(conn *Connection) {
	if h.conn != nil && h.conn != conn {
		h.conn.moveHold(h.conversation, h.hash)
	}
	h.assign(conn)
}

// claims has the current claims and their holders. It implements conv.ClaimObserver.
type claims struct {
	auth *auth.Service

	mu   *sync.Mutex // Dispatcher.mu; guards the field below
	held map[eventdata.ClaimHash]*heldClaim
}

func newClaims(mu *sync.Mutex, a *auth.Service) *claims {
	return &claims{auth: a, mu: mu, held: make(map[eventdata.ClaimHash]*heldClaim)}
}

// Taken implements conv.ClaimObserver: it records the claim that a request takes.
func (k *claims) Taken(conversation string, r *conv.Request) {
	p := r.By.(*auth.Principal)
	s, claim, conn := &r.Decision.State, r.Decision.Claim, ConnectionOf(p)
	h := &heldClaim{
		hash: claim.Hash, conversation: conversation, agentID: r.Cmd.From, serves: servedBy(s, r.Cmd.From), turn: claim.Turn,
		seats: s.Participants, executorID: r.Cmd.Executor.ID, id: r.ClaimID,
	}
	k.mu.Lock()
	defer k.mu.Unlock() // until the connection knows the claim, so that its end does not miss it
	k.held[claim.Hash] = h
	if conn == nil {
		return
	}
	if x := conn.registered(); x != nil {
		h.key = x.key
	}
	if !conn.closed {
		h.conn = conn
	}
	conn.addHold(conversation, auth.Hold{
		Hash: claim.Hash, Turn: claim.Turn, Seat: p, Serves: servedBy(s, p.AgentID), Seatless: hasNoSeat(p, s.Participants),
	})
}

// Dropped implements conv.ClaimObserver: it forgets a claim that is not in the log.
func (k *claims) Dropped(conversation string, r *conv.Request) {
	hash := r.Cmd.NewClaim().New
	k.mu.Lock()
	if h := k.held[hash]; h != nil {
		k.removeLocked(h)
	}
	k.mu.Unlock()
	if conn := ConnectionOf(r.By.(*auth.Principal)); conn != nil {
		conn.endHold(conversation, hash, true)
	}
}

func servedBy(s *fold.State, seat string) string {
	if i := s.Seat(seat); i >= 0 {
		return s.ServedBy(i)
	}
	return ""
}

// hasNoSeat reports whether p speaks as another of its ids and has no seat besides that.
func hasNoSeat(p *auth.Principal, seats []parley.Participant) bool {
	home := p.Home()
	return home != "" && !slices.ContainsFunc(seats, func(s parley.Participant) bool { return s.ID == home })
}

// recordLocked returns the current claim of a conversation.
func (k *claims) recordLocked(s *fold.State) *heldClaim {
	c := s.Claim
	h := k.held[c.Hash]
	if h == nil {
		h = &heldClaim{
			hash: c.Hash, conversation: s.ID, agentID: c.AgentID, turn: c.Turn, executorID: c.ExecutorID,
		}
		k.held[c.Hash] = h
	}
	if seat := s.Seat(c.AgentID); seat >= 0 {
		h.serves, h.seats = s.ServedBy(seat), s.Participants
	}
	h.assign(h.conn)
	return h
}

// removeLocked forgets a claim, and ends the token of the command that runs under it.
func (k *claims) removeLocked(h *heldClaim) {
	h.assign(nil)
	delete(k.held, h.hash)
	if h.commandEnd != nil {
		close(h.commandEnd)
		k.auth.AnnounceEnd()
	}
}

// endLocked removes a claim that is over for a reason, and notifies its holder. It returns the executor
// that held it, or nil.
func (k *claims) endLocked(c fold.Claim, s *fold.State, reason parley.ClaimEnd) *executor {
	h := k.held[c.Hash]
	if h == nil {
		return nil
	}
	conn, x := h.conn, h.x
	k.removeLocked(h)
	k.auth.EndClaim(c.Hash)
	if conn == nil {
		return x
	}
	conn.endHold(s.ID, c.Hash, s.CurrentTurn() > c.Turn || s.Closed())
	if conn.notify != nil && h.id != "" && !isByHolder(reason) {
		conn.notify(parley.ExecutorNotification{ClaimEnded: &parley.ClaimEndedNotification{
			ConversationID: s.ID, AgentID: c.AgentID, Turn: c.Turn, ClaimID: h.id, Reason: reason,
		}})
	}
	return x
}

// updateWaitLocked updates whether the current claim waits for a session of its agent or an approval.
// While it waits, it uses no capacity of its executor, which is notified. It returns an executor that
// has room now, or nil.
func (k *claims) updateWaitLocked(s *fold.State) *executor {
	if s.Claim == nil {
		return nil
	}
	h := k.held[s.Claim.Hash]
	waits := s.WaitsForSession(s.Claim.AgentID) || s.AwaitsApproval()
	if h == nil || h.waits == waits {
		return nil
	}
	conn, x := h.conn, h.x
	h.assign(nil)
	h.waits = waits
	h.assign(conn)
	h.notifyWaiting()
	if waits {
		return x
	}
	return nil
}

// confirmLocked makes conn, on which p named a claim, the holder of the claim, and returns it. It returns
// nil if p may not hold it.
func (k *claims) confirmLocked(hash eventdata.ClaimHash, id string, p *auth.Principal, conn *Connection) *heldClaim {
	h := k.held[hash]
	if h == nil || conn.closed || h.agentID != p.AgentID {
		return nil
	}
	if h.conn != conn { // if it is the same, p may still have a new token
		h.id = id
		h.moveTo(conn)
	}
	conn.addHold(h.conversation, h.holdOf(p))
	return h
}

// moveLocked makes x the holder of the claim with an id and returns it, if the claim is current and of an
// agent of x; else nil.
func (k *claims) moveLocked(hash eventdata.ClaimHash, id string, x *executor) *heldClaim {
	h := k.held[hash]
	if h == nil || !h.mayMoveTo(x) {
		return nil
	}
	h.id, h.key = id, x.key
	h.moveTo(x.conn)
	if h.waits {
		h.notifyWaiting()
	}
	x.conn.addHold(h.conversation, h.holdOf(x.by.As(h.agentID)))
	return h
}

// countLocked counts the claims that conn holds in the load of its executor.
func (k *claims) countLocked(conn *Connection) {
	for _, h := range k.held {
		if h.conn == conn {
			h.assign(conn)
		}
	}
}

// loseLocked returns the claims that conn held and that no connection holds now.
func (k *claims) loseLocked(conn *Connection) (lost []*heldClaim) {
	for _, hash := range conn.holdHashes() {
		if h := k.held[hash]; h != nil && h.conn == conn {
			h.assign(nil)
			lost = append(lost, h)
		}
	}
	return lost
}

// abandonedLocked returns the claims of the executor of x that x does not continue.
func (k *claims) abandonedLocked(x *executor, kept map[eventdata.ClaimHash]bool) (all []*heldClaim) {
	for hash, h := range k.held {
		if h.isBy(x) && h.conn != x.conn && !kept[hash] {
			all = append(all, h)
		}
	}
	return all
}

// ClaimIDOf returns the id of the claim that a decision for p took or found, if this hub knows it.
func (k *claims) ClaimIDOf(r *fold.Decision, p *auth.Principal) string {
	if r.Claim == nil || r.Claim.AgentID != p.AgentID {
		return ""
	}
	return k.idOf(r.Claim.Hash)
}

// idOf returns the id of a claim that was taken or named since the start; else it is empty.
func (k *claims) idOf(hash eventdata.ClaimHash) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if h := k.held[hash]; h != nil {
		return h.id
	}
	return ""
}

// TurnOf implements auth.Claims.
func (k *claims) TurnOf(hash eventdata.ClaimHash) (number int64, current bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := k.held[hash]
	if h == nil {
		return 0, false
	}
	return h.turn, true
}

// CommandOf implements auth.Claims.
func (k *claims) CommandOf(
	conversation string, hash eventdata.ClaimHash,
) (agent, account string, ended <-chan struct{}, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := k.held[hash]
	if h == nil || h.conversation != conversation {
		return "", "", nil, false
	}
	if h.commandEnd == nil {
		h.commandEnd = make(chan struct{})
	}
	account = "agent " + h.agentID
	if h.x != nil && h.x.by.Account != "" {
		account = h.x.by.Account
	}
	return h.agentID, account, h.commandEnd, true
}

// isByHolder reports whether the holder itself ends a claim for this reason.
func isByHolder(reason parley.ClaimEnd) bool {
	switch reason {
	case parley.ClaimFinal, parley.ClaimYielded, parley.ClaimDeclined, parley.ClaimSilent, parley.ClaimFailed:
		return true
	}
	return false
}
