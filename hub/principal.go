package hub

import (
	"cmp"
	"slices"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/conv"
)

// Principal is who calls: a participant and what it may do. It does not change.
type Principal struct {
	// AgentID is the participant that it speaks as.
	AgentID string
	// TokenID names the token that it came with; empty for callers inside the hub's process.
	TokenID string
	// Account names the token that its use is counted under: the one, from its own up, that an admin has made.
	Account string
	// ExpiresAt is when the token ends; zero means never.
	ExpiresAt time.Time

	agents        []string // ids that its token may speak as; nil with admin: any
	scopes        []parley.Scope
	conversations []string        // nil: any
	workspaces    []string        // that its token grants; with admin: any
	guest         bool            // it has only a ticket for one conversation: its token is not its own
	revoked       <-chan struct{} // closed when its token is revoked; nil: it cannot be
	claim         *fold.ClaimHash // it speaks under this claim alone; nil: as it likes
	claimTurn     int64
	session       string      // it is a command that runs for this session, and may start others; empty: none
	home          string      // who it is elsewhere, where it speaks as another of its ids in one conversation
	conn          *Connection // on which it calls; nil: none that stays
}

// LocalPrincipal makes a principal for a caller inside the hub's process; without scopes it has the default ones.
func (h *Hub) LocalPrincipal(agentID string, scopes ...parley.Scope) *Principal {
	if len(scopes) == 0 {
		scopes = parley.DefaultScopes
	}
	return &Principal{AgentID: agentID, agents: []string{agentID}, scopes: scopes}
}

// SpeakingAs gives p, a local principal, as one that may speak as these agents too.
func (p *Principal) SpeakingAs(agents ...string) *Principal {
	more := *p
	more.agents = append(slices.Clone(p.agents), agents...)
	return &more
}

// Has reports whether the principal has a scope. Admin has all.
func (p *Principal) Has(s parley.Scope) bool {
	return s == parley.ScopeNone || s == parley.ScopeSelf || p.Admin() || slices.Contains(p.scopes, s)
}

// Admin reports whether the principal has the scope admin.
func (p *Principal) Admin() bool { return slices.Contains(p.scopes, parley.ScopeAdmin) }

// Agents gives the ids that its token may speak as, AgentID among them; nil for an admin, whose token may speak as any.
func (p *Principal) Agents() []string {
	if p.Admin() {
		return nil
	}
	return slices.Clone(p.agents)
}

// Scopes gives what its token may do. Admin stands for all.
func (p *Principal) Scopes() []parley.Scope { return append([]parley.Scope{}, p.scopes...) }

// maySpeakAs reports whether its token may speak as id.
func (p *Principal) maySpeakAs(id string) bool { return p.Admin() || slices.Contains(p.agents, id) }

// as gives p as a participant that it may speak as.
func (p *Principal) as(id string) *Principal {
	if p.AgentID == id {
		return p
	}
	seat := *p
	seat.home, seat.AgentID = cmp.Or(p.home, p.AgentID), id
	return &seat
}

// maySit reports whether its token may speak as the agent of a seat. The agent's seat of a session that belongs to a runner is for who has registered that.
func (p *Principal) maySit(s *fold.State, i int) bool {
	seat := s.Participants[i]
	if r := s.Session; r.OfRunner() && r.AgentID == seat.ID {
		return r.Runner != nil && (p.Admin() || p.AgentID == r.Runner.ParticipantID)
	}
	return p.maySpeakAs(seat.ID) || seat.Kind.Claims() && p.maySpeakAs(fold.AgentName(seat))
}

// implied gives the claim that p need not name in a conversation; stands is the one that stands there.
func (p *Principal) implied(conversation string, stands *fold.Claim) (*fold.ClaimHash, int64) {
	if p.claim != nil {
		return p.claim, p.claimTurn
	}
	return p.conn.implied(conversation, stands)
}

// Viewer selects the events that p may read.
func (p *Principal) Viewer() fold.Viewer {
	return fold.Viewer{ID: p.AgentID, All: p.Has(parley.ScopeTrace)}
}

// maxIDBytes is as long as an id of a conversation gets.
const maxIDBytes = 64

// kept reports whether such a conversation is one in which an adapter keeps what is its own. Admins create and close it and write notes there, and that is all:
// nobody speaks in it, nothing is offered there, and no list has it.
func kept(id string) bool { return parley.KeptConversationID(id) }

// reaches reports whether its token lets it near a conversation at all.
func (p *Principal) reaches(id string) bool {
	if id == "" || len(id) > maxIDBytes {
		return false
	}
	if conv.Reserved(id) {
		return p.Admin() && p.conversations == nil
	}
	return p.conversations == nil || slices.Contains(p.conversations, id)
}

// sees reports whether the principal has a part in a conversation: it may write there, as far as the floor and its scopes let it.
func (p *Principal) sees(s *fold.State) bool {
	return s.Exists() && p.reaches(s.ID) && (p.Admin() || p.AgentID == s.CreatedBy || s.HasParticipant(p.AgentID))
}

// Revoked reports whether the principal's token was revoked.
func (p *Principal) Revoked() bool {
	select {
	case <-p.revoked:
		return true
	default:
		return false
	}
}

var (
	errExpired = parley.Refuse(parley.ErrUnauthenticated, "the token has expired", "a token that is valid")
	errRevoked = parley.Refuse(parley.ErrUnauthenticated, "the token was revoked", "a token that is valid")
)

// Narrow gives p for one conversation only, which p must see: else it fails with ErrNotFound.
func (h *Hub) Narrow(p *Principal, conversation string) (*Principal, error) {
	if err := h.allow(p, parley.MethodCreateTicket); err != nil {
		return nil, err
	}
	c, err := h.find(p, conversation, false)
	if err != nil {
		return nil, err
	}
	h.conv.Unpin(c)
	narrow := *p
	narrow.conversations, narrow.guest = []string{conversation}, true
	return &narrow, nil
}

// allow refuses what the principal's scopes do not include, and everything when the hub drains or has failed.
func (h *Hub) allow(p *Principal, method string) error {
	if err := h.conv.Serving(); err != nil {
		return err
	}
	if err := p.Valid(h.Now()); err != nil {
		return err
	}
	if p.session != "" && !forCommands[method] {
		return parley.Refuse(parley.ErrForbidden, "the token of a command starts, reads and stops sessions of its own", "startSession, getSession, stopSession or listAgents")
	}
	m, _ := parley.MethodByName(method)
	if !p.Has(m.Scope) {
		return parley.Refuse(parley.ErrForbidden, method+" needs the scope "+string(m.Scope), "a token with scope "+string(m.Scope))
	}
	return nil
}

var errNotFound = parley.Refuse(parley.ErrNotFound, "there is no such conversation", "")

// forCommands are the methods for the token of a command.
var forCommands = map[string]bool{
	parley.MethodStartSession: true, parley.MethodGetSession: true, parley.MethodStopSession: true, parley.MethodListAgents: true,
}

// Valid returns nil while the principal's token is valid, else the refusal.
func (h *Hub) Valid(p *Principal) error { return p.Valid(h.Now()) }
