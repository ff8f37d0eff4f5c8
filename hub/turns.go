package hub

import (
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/internal/methods"
)

// Connect returns a connection of a caller outside of the hub's process. notify is called with the
// notifications of its registration, in order; it must not block. replaced is called once when another
// connection registers as the same executor; then this one should end. Both may be nil.
func (h *Hub) Connect(notify func(parley.ExecutorNotification), replaced func()) *Connection {
	return h.turns.NewConnection(false, notify, replaced)
}

// RegisterExecutor registers p's connection as an executor. It waits until the hub knows all claims.
func (h *Hub) RegisterExecutor(
	p *Principal, q *parley.RegisterExecutorParams, done func(parley.RegisterExecutorResult, error),
) {
	h.turns.RegisterExecutor(p, q, done)
}

// ClaimTurn claims a turn: an offered turn by the id of the offer, or a turn of the caller by its number.
func (h *Hub) ClaimTurn(p *Principal, q *parley.ClaimTurnParams, done func(parley.ClaimTurnResult, error)) {
	h.turns.ClaimTurn(p, q, done)
}

// RenewClaim extends a claim.
func (h *Hub) RenewClaim(p *Principal, q *parley.RenewClaimParams, done func(parley.RenewClaimResult, error)) {
	h.turns.RenewClaim(p, q, done)
}

// ReleaseClaim releases a claim.
func (h *Hub) ReleaseClaim(p *Principal, q *parley.ReleaseClaimParams, done func(parley.EmptyResult, error)) {
	h.turns.ReleaseClaim(p, q, done)
}

// CancelTurn ends a turn without a final message.
func (h *Hub) CancelTurn(p *Principal, q *parley.CancelTurnParams, done func(parley.SeqResult, error)) {
	p = p.In(q.ConversationID)
	c, err := h.auth.EnterOwn(p, methods.CancelTurn, q.ConversationID)
	if err != nil {
		done(parley.SeqResult{}, err)
		return
	}
	err = check.Reason(q.Reason)
	if q.Turn < 1 {
		err = parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("turn is %d", q.Turn), "1 or more")
	}
	h.decide(c, p, err, fold.Command{Do: &fold.Cancel{Turn: q.Turn, Detail: q.Reason}}, nil, done)
}

// guidance returns the guidance of a state for a participant. It adds to the reason that attempts failed
// or that the speaker has no executor. Whether an executor is online is not in the log.
func (h *Hub) guidance(s *fold.State, id string, explain bool) parley.Guidance {
	g := s.Guidance(id, explain)
	seat := s.Seat(g.Speaker)
	if g.Kind == parley.Closed || g.Claim != nil || s.AwaitsApproval() || seat < 0 || !s.Participants[seat].Kind.Claims() {
		return g
	}
	for _, a := range s.Asks() {
		if a.AgentID == g.Speaker && !a.Offer {
			g.Reason += fmt.Sprintf(" The %d attempts at turn %d have failed.", a.Attempts, g.Turn)
		}
	}
	if !h.turns.IsOnline(s, seat) {
		g.Reason += fmt.Sprintf(" No executor of %s is registered.", fold.AgentName(s.Participants[seat]))
	}
	return g
}

// floor returns whose turn it is in a conversation and what blocks the turn, or nil if the conversation is
// closed. Whether an executor is online is not in the log.
func (h *Hub) floor(s *fold.State) *parley.Floor {
	if s.Closed() || !s.Exists() {
		return nil
	}
	out := &parley.Floor{
		Turn: s.CurrentTurn(), Speaker: s.Floor().Speaker, Open: s.Open, Since: s.FloorSince,
		Claim: s.ClaimState(), Approvals: len(s.Pending()),
	}
	for _, t := range s.Tries {
		out.Attempts += t.Attempts
	}
	seat := s.Seat(out.Speaker)
	if seat >= 0 {
		out.Kind = s.Participants[seat].Kind
	}
	out.Stuck = h.stuckReason(s, seat)
	return out
}

// stuckReason returns what the turn of a seat waits for that needs an action, or an empty reason. seat is
// negative if no participant has the floor.
func (h *Hub) stuckReason(s *fold.State, seat int) parley.StuckReason {
	switch {
	case s.AwaitsApproval():
		return parley.StuckApproval
	case s.Claim != nil, seat < 0, !s.Participants[seat].Kind.Claims():
		return ""
	case !h.turns.IsOnline(s, seat):
		return parley.StuckNoExecutor
	case s.Attempts(s.Participants[seat].ID) >= s.Limits.Attempts() &&
		s.Limits.AtTurnTimeout() == parley.TurnReoffer:
		return parley.StuckAttempts
	}
	return ""
}
