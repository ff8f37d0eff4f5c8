package hub

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/auth"
)

// answerer finds out which approvals one caller may answer. It is of use for one call.
type answerer struct {
	hub   *Hub
	p     *auth.Principal
	known map[string]standing
}

func (h *Hub) newAnswerer(p *auth.Principal) *answerer {
	return &answerer{hub: h, p: p, known: make(map[string]standing)}
}

// standing is how a caller stands to the approvals of one conversation.
type standing struct {
	who  *auth.Principal // as whom it answers
	sees bool            // whether the conversation is there for it
	err  error           // why it answers none; nil where it may
}

// rights are those of a caller to one approval.
type rights struct {
	standing
	asked    bool // it is who has asked
	admin    bool
	resolved bool
}

// pending reports whether the caller may answer it now.
func (r *rights) pending() bool { return r.err == nil && !r.resolved }

// reads reports whether the approval is there for the caller.
func (r *rights) Reads() bool { return r.err == nil || r.asked || r.admin }

// refusal says why the caller may not answer; where it may not even read the conversation, that there is no such approval.
func (r *rights) refusal() error {
	if r.err != nil && !r.sees && !r.Reads() {
		return errNoApproval
	}
	return r.err
}

// standing gives how the caller stands to the approvals of a conversation.
func (w *answerer) standing(s *fold.State) standing {
	in, ok := w.known[s.ID]
	if !ok {
		in = w.in(s)
		w.known[s.ID] = in
	}
	return in
}

// near reports whether any approval of a conversation may be there for the caller: else its log need not be read.
func (w *answerer) near(s *fold.State) bool {
	if in := w.standing(s); in.sees || in.err == nil || w.p.Admin() && w.p.Reaches(s.ID) {
		return true
	}
	_, visible := w.p.Resolve(s, "")
	return visible
}

// of gives the caller's rights to an approval of a state.
func (w *answerer) of(s *fold.State, a *fold.Approval) *rights {
	in := w.standing(s)
	r := &rights{standing: in, admin: w.p.Admin() && w.p.Reaches(s.ID), resolved: a.Status.Resolved()}
	seat, visible := w.p.Resolve(s, a.AgentID)
	r.asked = visible && w.p.Reaches(s.ID) && seat.AgentID == a.AgentID
	if err := mayAnswer(r.who, s, a); err != nil {
		r.err = err
	}
	return r
}

func mayNot(message, expected string) error {
	return parley.Refuse(parley.ErrForbidden, message, expected)
}

var (
	errAgentAnswers = mayNot("agents and tools do not answer approvals", "an answer of a person or peer with the scope approve")
	errNotAsked     = mayNot("approvals are answered by people and peers who take part in the conversation, or in one above it in the tree of sessions, and by admins",
		"a seat of kind human or peer")
	errNoApprove    = mayNot("the token does not have the scope approve", "a token with scope approve")
	errAskerAnswers = mayNot("who asks for an approval does not answer it", "an answer of somebody else")
	errTokenAnswers = mayNot("the approval was asked for with this token", "another token, that counts under another account")
	errSameAccount  = mayNot("the token counts under the same account as the one that has asked for the approval", "a token of another account")
	errMaySpeak     = mayNot("the token may speak as who asks for the approval", "a token that may not")
)

// mayAnswer refuses who may answer no approval at all, and those that have asked for this one, or could have.
func mayAnswer(p *auth.Principal, s *fold.State, a *fold.Approval) error {
	switch {
	case p.AgentID == a.AgentID:
		return errAskerAnswers
	case a.TokenID != "" && p.TokenID == a.TokenID:
		return errTokenAnswers
	case !p.Has(parley.ScopeApprove):
		return errNoApprove
	case p.Admin():
		return nil
	case a.Account != "" && p.Account == a.Account:
		return errSameAccount
	case couldAsk(p, s, a.AgentID):
		return errMaySpeak
	}
	return nil
}

// couldAsk reports whether its token may speak as who asks from a seat, or work for the agent there, as whichever of its ids.
func couldAsk(p *auth.Principal, s *fold.State, seat string) bool {
	if p.MaySpeakAs(seat) {
		return true
	}
	if r := s.Session; r.OfRunner() && r.AgentID == seat {
		return r.Runner != nil && p.MaySpeakAs(r.Runner.ParticipantID)
	}
	i := s.Seat(seat)
	return i >= 0 && p.MaySpeakAs(fold.AgentName(s.Participants[i]))
}

// stands reports whether a standing holds, whoever sits above x: an admin's does, and that of a person. A peer in a session may be an agent above.
func (in *standing) stands(w *answerer, x *fold.State) bool {
	if in.err != nil {
		return false
	}
	seat := x.Seat(in.who.AgentID)
	return w.p.Admin() || seat >= 0 && x.Participants[seat].Kind == parley.KindHuman
}

// in finds out how the caller stands to the approvals of a conversation: by its seat there, or in one above it. Whoever sits anywhere among these as an agent or tool
// answers none: a session has its starter on a seat of kind peer, whatever that is elsewhere.
func (w *answerer) in(s *fold.State) standing {
	here := w.p.In(s.ID)
	out := standing{who: here, sees: here.Sees(s), err: errNotAsked}
	if w.p.Admin() && w.p.Reaches(s.ID) {
		out.err = nil
	}
	for x, depth := s, 0; depth <= parley.MaxSessionDepth; depth++ {
		who := w.p.In(x.ID)
		if seat := x.Seat(who.AgentID); seat >= 0 {
			if x.Participants[seat].Kind.Claims() {
				out.err = errAgentAnswers
				return out
			}
			if out.err != nil && w.p.Reaches(x.ID) {
				out.who, out.err = who, nil
			}
		}
		if x.Session == nil || x.Session.Parent == "" {
			break
		}
		parent, err := w.hub.conv.StateOf(x.Session.Parent)
		if err != nil {
			if !out.stands(w, x) {
				out.err = err // who sits there is not known
			}
			return out
		}
		x = &parent
	}
	return out
}
