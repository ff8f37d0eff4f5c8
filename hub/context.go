package hub

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/triggers"
	"github.com/parleyhub/parley/hub/internal/turns"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/hub/vector"
	"github.com/parleyhub/parley/internal/selector"
)

// contexts puts together what agents are to work with, whatever they are: nobody else does, so that all of them are given the same bytes.
type contexts struct {
	hub      *Hub
	embedder vector.Embedder
	vectors  *vector.Store
	building chan struct{} // a slot for each that is put together without vectors
	likening chan struct{} // a slot for each with vectors: it may wait for the embedder, and those without do not wait for it
	asking   chan struct{} // a slot for each call of the embedder that has not come back
}

const (
	maxBuilding = 16
	maxAsking   = 8
	// fetchTime is how long the log may be looked at for one context, and after that how long the embedder may take.
	fetchTime = 30 * time.Second
)

func newContexts(h *Hub) *contexts {
	vectors := vector.NewStore(h.opts.VectorFile)
	vectors.OnAside = func(name string) {
		h.log.Warn("the file of vectors was damaged, or of something else: it was set aside", "file", h.opts.VectorFile, "aside", name)
	}
	return &contexts{
		hub: h, embedder: h.opts.Embedder, vectors: vectors,
		building: make(chan struct{}, maxBuilding), likening: make(chan struct{}, maxBuilding), asking: make(chan struct{}, maxAsking),
	}
}

// close gives the file of vectors back.
func (x *contexts) close() {
	if err := x.vectors.Close(); err != nil {
		x.hub.log.Warn("cannot close the file of vectors", "error", err)
	}
}

// feeding is whom a context is for, and where it looks.
//
//	seat -> its blueprint -> matches that it was given -> events of context selectors -> values, by hints -> one object, within its bound
type feeding struct {
	hub *Hub
	// set are the agent's subscriptions; nil where it has none. workspaces are those that the token of its runner grants: for a caller who may not speak as the agent,
	// as far as that grants them too.
	set        *selector.Set
	workspaces []string
	// reaches says which conversations the caller's token is for.
	reaches func(id string) bool
	// at is the conversation in which the selectors look, and given what has woken the agent there.
	at     string
	given  []parley.SessionTrigger
	viewer fold.Viewer
	// asked is the conversation whose last message stands for the trigger where there is none: what the others are to be like.
	asked string
	// may says which context selectors are fetched; nil: all.
	may func(*parley.Selector) bool
}

// GetContext gives what the agent of a seat is to work with, fetched now. It is for who may speak as the agent, or runs it, and for admins, while the conversation is open: what a
// session was started out of is read by nobody else through it, nor when it is over.
func (h *Hub) GetContext(ctx context.Context, p *auth.Principal, q *parley.GetContextParams) (*parley.GetContextResult, error) {
	return auth.CallFresh(ctx, h.auth, func() (*parley.GetContextResult, error) { return h.getContext(ctx, p, q) })
}

func (h *Hub) getContext(ctx context.Context, p *auth.Principal, q *parley.GetContextParams) (*parley.GetContextResult, error) {
	if err := h.auth.Allow(p, parley.MethodGetContext); err != nil {
		return nil, err
	}
	c, s, err := h.turns.Pin(p, q.ConversationID)
	if err != nil {
		return nil, err
	}
	defer h.conv.Unpin(c)
	f, err := h.feedingOf(p, &s, q)
	if err != nil {
		return nil, err
	}
	out, err := f.build(ctx)
	if err == nil {
		err = h.Valid(p) // it may have ended meanwhile
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// feedingOf finds the seat, whether p may have its context, and what it was given.
func (h *Hub) feedingOf(p *auth.Principal, s *fold.State, q *parley.GetContextParams) (*feeding, error) {
	i, err := feedsSeat(p, s, q)
	if err != nil {
		return nil, err
	}
	if s.Closed() {
		return nil, parley.Refuse(parley.ErrConversationClosed, "the conversation is closed: its agents work no more", "an open one")
	}
	seat := s.Participants[i]
	f := &feeding{hub: h, reaches: p.Reaches, at: s.ID, asked: s.ID, viewer: fold.Viewer{ID: seat.ID}}
	agent := fold.AgentName(seat)
	if s.Session != nil {
		agent, _, _ = strings.Cut(s.Session.Agent, "@")
	}
	defer func() {
		if !p.MaySpeakAs(agent) { // it holds the seat, which may name any agent, or runs it by another token than was granted
			f.workspaces = p.GrantedOf(f.workspaces)
		}
	}()
	if r := s.Session; r != nil {
		h.feedSession(f, r, seat.ID)
		return f, nil
	}
	claim, err := claimOfSeat(s, seat.ID, q.ClaimID)
	if err != nil {
		return nil, err
	}
	if !seat.Kind.Claims() {
		return f, nil
	}
	f.setAgent(h.triggers.FindSeated(fold.AgentName(seat)))
	for _, w := range s.GivenTo(seat.ID, claim) {
		f.given = append(f.given, parley.SessionTrigger{Seq: w.Seq, Selector: w.Selector, Workspace: w.Workspace})
	}
	return f, nil
}

// feedsSeat gives the seat whose context is asked for.
func feedsSeat(p *auth.Principal, s *fold.State, q *parley.GetContextParams) (int, error) {
	claimed := ""
	if c := s.Claim; c != nil && q.ClaimID != "" && fold.HashClaim(q.ClaimID) == c.Hash {
		claimed = c.AgentID
	}
	if s.Session != nil && claimed == "" {
		claimed = s.Session.AgentID
	}
	if q.AgentID != "" {
		claimed = q.AgentID
	}
	who, visible := p.Resolve(s, claimed)
	if !visible && !p.Reads(s) {
		return 0, auth.ErrNotFound
	}
	id := who.AgentID
	if q.AgentID != "" {
		id = q.AgentID
	}
	i := s.Seat(id)
	switch {
	case i < 0:
		return 0, parley.Refuse(parley.ErrForbidden, fmt.Sprintf("%s takes no part in the conversation", policy.Clip(id)), "agentId of a participant that the token may speak as")
	case !feeds(p, s, i):
		return 0, parley.Refuse(parley.ErrForbidden, fmt.Sprintf("the context of %s is for who may speak as that, or runs it", policy.Clip(id)), "a token that may")
	}
	return i, nil
}

// feeds reports whether p may have the context of a seat: its holder, who runs it, or an admin. A token for one turn is for the seat of that.
func feeds(p *auth.Principal, s *fold.State, i int) bool {
	if p.Claim() != nil {
		return p.HasCurrentClaim(s) && s.Claim.AgentID == s.Participants[i].ID
	}
	return p.Admin() || p.MaySit(s, i)
}

// claimOfSeat gives the claim of a turn of a seat: the one of that id, or the one that stands.
func claimOfSeat(s *fold.State, seat, id string) (*fold.Claim, error) {
	c := s.Claim
	switch _, ok := fold.ClaimTurn(id); {
	case id == "" && (c == nil || c.AgentID != seat):
		return nil, nil
	case id == "":
		return c, nil
	case !ok:
		return nil, turns.ErrNoClaimID
	case c == nil || c.Hash != fold.HashClaim(id):
		return nil, parley.Refuse(parley.ErrClaimLost, "the claim does not stand any more", "the claim of the turn that is under way")
	case c.AgentID != seat:
		return nil, parley.Refuse(parley.ErrForbidden, fmt.Sprintf("the claim is of %s", c.AgentID), "agentId of the claim's participant")
	}
	return c, nil
}

// feedSession is for a seat of a session: its agent works with what stands in the conversation out of which it was started.
func (h *Hub) feedSession(f *feeding, r *parley.SessionRecord, seat string) {
	if r.AgentID != seat {
		return
	}
	f.setAgent(h.runs(r))
	if r.Parent == "" {
		return
	}
	if f.at = r.Parent; r.Trigger != nil {
		f.given = []parley.SessionTrigger{*r.Trigger}
	}
}

// runs gives the blueprint of the agent of a session: that of its runner, where one has it; nil where there is none.
func (h *Hub) runs(r *parley.SessionRecord) *triggers.Agent {
	plain, _, _ := strings.Cut(r.Agent, "@")
	if !r.OfRunner() {
		return h.triggers.FindSeated(plain)
	}
	if r.Runner == nil {
		return nil
	}
	b, _ := h.runners.find(plain, r.Runner.RunnerID, nil)
	if b == nil || b.runner.ParticipantID != r.Runner.ParticipantID {
		return nil
	}
	return b.triggerAgent()
}

// setAgent takes the subscriptions of an agent, and what its runner was granted.
func (f *feeding) setAgent(a *triggers.Agent) {
	if a != nil {
		f.set, f.workspaces = a.Set, a.Workspaces
	}
}
