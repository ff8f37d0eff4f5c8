package hub

import (
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// guide is the guidance of a state, which says too when nobody is there to take the turn of an agent. Who is there is no part of the log.
func (h *Hub) guide(s *fold.State, id string, explain bool) parley.Guidance {
	g := s.Guidance(id, explain)
	seat := s.Seat(g.Speaker)
	if g.Kind == parley.Closed || g.Claim != nil || s.Awaits() || seat < 0 || !s.Participants[seat].Kind.Claims() {
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

// guideBriefly is guide without an explanation.
func (h *Hub) guideBriefly(s *fold.State, id string) parley.Guidance { return h.guide(s, id, false) }
