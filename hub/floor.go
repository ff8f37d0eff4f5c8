package hub

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// floor says who is to speak in a conversation and what keeps it; nil where it is closed. Which executors are online is no part of the log: it is looked at now.
func (h *Hub) floor(s *fold.State) *parley.Floor {
	if s.Closed() || !s.Exists() {
		return nil
	}
	out := &parley.Floor{
		Turn: s.CurrentTurn(), Speaker: s.Floor().Speaker, Open: s.Open, Since: s.FloorSince, Claim: s.ClaimState(), Approvals: len(s.Pending()),
	}
	for _, t := range s.Tries {
		out.Attempts += t.Attempts
	}
	seat := s.Seat(out.Speaker)
	if seat >= 0 {
		out.Kind = s.Participants[seat].Kind
	}
	out.Stuck = h.stuck(s, seat)
	return out
}

// stuck says what the turn of a seat waits for that does not come by itself. Seat -1 is nobody's.
func (h *Hub) stuck(s *fold.State, seat int) parley.StuckReason {
	switch {
	case s.Awaits():
		return parley.StuckApproval
	case s.Claim != nil, seat < 0, !s.Participants[seat].Kind.Claims():
		return ""
	case !h.turns.IsOnline(s, seat):
		return parley.StuckNoExecutor
	case s.Attempts(s.Participants[seat].ID) >= s.Limits.Attempts() && s.Limits.AtTurnTimeout() == parley.TurnReoffer:
		return parley.StuckAttempts
	}
	return ""
}
