package approvals

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/internal/limits"
)

// answerer finds the rights of one caller to approvals, during one call.
type answerer struct {
	engine *conv.Engine
	caller *auth.Principal
	known  map[string]standing
}

func (s *Service) newAnswerer(p *auth.Principal) *answerer {
	return &answerer{engine: s.engine, caller: p, known: make(map[string]standing)}
}

// standing has the rights of a caller to all approvals of a conversation.
type standing struct {
	principal *auth.Principal // as which the caller answers
	sees      bool            // the caller sees the conversation
	err       error           // why the caller may answer none of the approvals, or nil
}

// rights are those of a caller to one approval.
type rights struct {
	standing
	isRequester bool
	isAdmin     bool
	isResolved  bool
}

func (r *rights) canAnswerNow() bool { return r.err == nil && !r.isResolved }

func (r *rights) canRead() bool { return r.err == nil || r.isRequester || r.isAdmin }

// refuseAnswer returns why the caller may not answer, or nil. A caller that can read neither the
// approval nor the conversation does not learn that the approval exists.
func (r *rights) refuseAnswer() error {
	if r.err != nil && !r.sees && !r.canRead() {
		return errNotFound
	}
	return r.err
}

func (w *answerer) findStanding(s *fold.State) standing {
	found, ok := w.known[s.ID]
	if !ok {
		found = w.computeStanding(s)
		w.known[s.ID] = found
	}
	return found
}

// mayRead reports whether the caller may read any approval of a conversation.
func (w *answerer) mayRead(s *fold.State) bool {
	if in := w.findStanding(s); in.sees || in.err == nil || w.isAdminOf(s) {
		return true
	}
	_, visible := w.caller.Resolve(s, "")
	return visible
}

func (w *answerer) isAdminOf(s *fold.State) bool { return w.caller.Admin() && w.caller.Reaches(s.ID) }

// findRights returns the rights of the caller to an approval of a state.
func (w *answerer) findRights(s *fold.State, a *fold.Approval) *rights {
	r := &rights{standing: w.findStanding(s), isAdmin: w.isAdminOf(s), isResolved: a.Status.Resolved()}
	seat, visible := w.caller.Resolve(s, a.AgentID)
	r.isRequester = visible && w.caller.Reaches(s.ID) && seat.AgentID == a.AgentID
	if err := checkIndependence(r.principal, s, a); err != nil {
		r.err = err
	}
	return r
}

func forbid(message, expected string) error {
	return parley.Refuse(parley.ErrForbidden, message, expected)
}

var (
	errAgent = forbid("agents and tools do not answer approvals",
		"an answer of a person or peer with the scope approve")
	errNoSeat = forbid("approvals are answered by people and peers who take part in the conversation, "+
		"or in one above it in the tree of sessions, and by admins", "a seat of kind human or peer")
	errNoScope   = forbid("the token does not have the scope approve", "a token with scope approve")
	errRequester = forbid("the requester of an approval does not answer it", "an answer from another participant")
	errSameToken = forbid("the approval was asked for with this token",
		"another token, that counts under another account")
	errSameAccount = forbid("the token counts under the same account as the one that requested the approval",
		"a token of another account")
	errMaySpeakAs = forbid("the token may speak as who asks for the approval", "a token that may not")
)

// checkIndependence refuses callers without the scope approve, and callers that requested the
// approval or could have.
func checkIndependence(p *auth.Principal, s *fold.State, a *fold.Approval) error {
	switch {
	case p.AgentID == a.AgentID:
		return errRequester
	case a.TokenID != "" && p.TokenID == a.TokenID:
		return errSameToken
	case !p.Has(parley.ScopeApprove):
		return errNoScope
	case p.Admin():
		return nil
	case a.Account != "" && p.Account == a.Account:
		return errSameAccount
	case mayRequestFrom(p, s, a.AgentID):
		return errMaySpeakAs
	}
	return nil
}

// mayRequestFrom reports whether the token of p may speak from a seat, or run the agent of the seat,
// as any of its ids.
func mayRequestFrom(p *auth.Principal, s *fold.State, seat string) bool {
	if p.MaySpeakAs(seat) {
		return true
	}
	if session := s.Session; session.OfRunner() && session.AgentID == seat {
		return session.Runner != nil && p.MaySpeakAs(session.Runner.ParticipantID)
	}
	i := s.Seat(seat)
	return i >= 0 && p.MaySpeakAs(fold.AgentName(s.Participants[i]))
}

// holdsWithoutParent reports whether the standing of the caller in s is valid whatever seat it has in
// the parent. It is for admins and people. A peer of a session may be an agent in the parent.
func (w *answerer) holdsWithoutParent(in standing, s *fold.State) bool {
	if in.err != nil {
		return false
	}
	seat := s.Seat(in.principal.AgentID)
	return w.caller.Admin() || seat >= 0 && s.Participants[seat].Kind == parley.KindHuman
}

// computeStanding looks for a seat of the caller in a conversation and in those above it. A caller
// with a seat as an agent or tool in any of them answers nothing. The caller of a session has a seat
// of kind peer in it, whatever its kind is in the parent.
func (w *answerer) computeStanding(s *fold.State) standing {
	here := w.caller.In(s.ID)
	out := standing{principal: here, sees: here.Sees(s), err: errNoSeat}
	if w.isAdminOf(s) {
		out.err = nil
	}
	for x, depth := s, 0; depth <= limits.MaxSessionDepth; depth++ {
		p := w.caller.In(x.ID)
		if seat := x.Seat(p.AgentID); seat >= 0 {
			if x.Participants[seat].Kind.Claims() {
				out.err = errAgent
				return out
			}
			if out.err != nil && w.caller.Reaches(x.ID) {
				out.principal, out.err = p, nil
			}
		}
		if x.Session == nil || x.Session.Parent == "" {
			break
		}
		parent, err := w.engine.StateOf(x.Session.Parent)
		if err != nil {
			if !w.holdsWithoutParent(out, x) {
				out.err = err
			}
			return out
		}
		x = &parent
	}
	return out
}
