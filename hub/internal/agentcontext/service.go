// Package agentcontext builds the context of agents: one JSON object with the events that triggered
// an agent, and with the events that its context selectors fetch from the log. All agents get it
// from here, so that equal selectors return equal bytes.
//
//	result, err := service.GetContext(ctx, principal, &parley.GetContextParams{ConversationID: id})
//	if err != nil {
//		return err
//	}
//	prompt(result.Context)
//
// # A build
//
//	seat -> Agent and triggers -> matches of its selectors -> values, by hints -> document
//
// A build waits for vectors at most fetchTimeout.
//
// # Goroutines and locks
//
//	| goroutine | started by | does |
//	|---|---|---|
//	| callEmbedder | a build | calls the embedder, at most maxCalls at once |
//
// Close does not wait for an embedder that does not return. The package has no mutex, and a build
// keeps no conversation locked.
package agentcontext

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/registry"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/hub/vector"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/selector"
)

// fetchTimeout bounds the time to read the log for one context, and then the time for vectors.
const fetchTimeout = 30 * time.Second

const maxBuilds = 16

// Options of a Service. All fields except VectorFile are required.
type Options struct {
	Engine   *conv.Engine
	Auth     *auth.Service
	Registry *registry.Registry
	// PinConversation pins a conversation and returns its head, when the hub knows its current claim.
	PinConversation func(p *auth.Principal, id string) (*conv.Conversation, fold.State, error)
	// FindSeated looks up the blueprint of the agent that takes the turns of a seat; nil if it has no
	// subscriptions.
	FindSeated func(name string) *registry.Blueprint
	// Embedder makes the vectors of texts. They are kept in VectorFile, or in memory if it is empty.
	Embedder   vector.Embedder
	VectorFile string
}

// Agent is the part of a blueprint on which a context depends. The zero value has an empty context.
type Agent struct {
	Set        *selector.Set // the compiled subscriptions; nil without subscriptions
	Workspaces []string      // that the token of its runner grants
}

// AgentOf returns the agent of a blueprint, which may be nil.
func AgentOf(b *registry.Blueprint) Agent {
	if b == nil || b.Selectors == nil {
		return Agent{}
	}
	return Agent{Set: b.Selectors, Workspaces: b.Runner.Workspaces}
}

// Service builds the contexts of agents.
type Service struct {
	opts      Options
	vectors   *vectorSource
	building  chan struct{} // a slot for each build without vectors
	comparing chan struct{} // a slot for each build with vectors, which may wait for the embedder
}

// New returns a Service.
func New(o Options) *Service {
	return &Service{
		opts: o, vectors: newVectorSource(o.Engine.Log(), o.Embedder, o.VectorFile),
		building: make(chan struct{}, maxBuilds), comparing: make(chan struct{}, maxBuilds),
	}
}

// Close closes the file of vectors.
func (s *Service) Close() {
	if err := s.vectors.store.Close(); err != nil {
		s.opts.Engine.Log().Warn("cannot close the file of vectors", "error", err)
	}
}

// GetContext fetches the context of the agent in a seat. It requires an open conversation, and a
// principal that may speak as the agent, runs it, or is an admin. Others could otherwise read what
// a session was started from.
func (s *Service) GetContext(
	ctx context.Context, p *auth.Principal, q *parley.GetContextParams,
) (*parley.GetContextResult, error) {
	if err := s.opts.Auth.Allow(p, methods.GetContext); err != nil {
		return nil, err
	}
	c, state, err := s.opts.PinConversation(p, q.ConversationID)
	if err != nil {
		return nil, err
	}
	defer s.opts.Engine.Unpin(c)
	query, err := s.newQuery(p, &state, q)
	if err != nil {
		return nil, err
	}
	b := &builder{service: s, Query: *query}
	out, err := b.build(ctx)
	if err == nil {
		err = p.Valid(s.opts.Engine.Now()) // the token may end during the build
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// newQuery returns the query for the agent of a seat, or a refusal if p may not have its context.
func (s *Service) newQuery(p *auth.Principal, state *fold.State, q *parley.GetContextParams) (*Query, error) {
	i, err := findSeat(p, state, q)
	if err != nil {
		return nil, err
	}
	if state.Closed() {
		return nil, parley.Refuse(parley.ErrConversationClosed,
			"the conversation is closed: its agents work no more", "an open one")
	}
	seat := state.Participants[i]
	query := &Query{ConversationID: state.ID, QuestionID: state.ID, AgentID: seat.ID, Reaches: p.Reaches}
	name := fold.AgentName(seat)
	if r := state.Session; r != nil {
		name, _, _ = strings.Cut(r.Agent, "@")
		s.addSession(query, name, r)
	} else if err := s.addTurn(query, name, state, seat, q.ClaimID); err != nil {
		return nil, err
	}
	if !p.MaySpeakAs(name) { // p has the seat, or runs the agent with a token that has other grants
		query.Agent.Workspaces = p.GrantedOf(query.Agent.Workspaces)
	}
	return query, nil
}

// addSession adds the agent of a session. It works on the conversation that started the session.
func (s *Service) addSession(q *Query, name string, r *parley.SessionRecord) {
	switch {
	case r.AgentID != q.AgentID:
		return
	case !r.OfRunner():
		q.Agent = AgentOf(s.opts.FindSeated(name))
	case r.Runner != nil:
		q.Agent = AgentOf(s.opts.Registry.BlueprintOf(*r.Runner, name))
	}
	if r.Parent == "" {
		return
	}
	q.ConversationID = r.Parent
	if r.Trigger != nil {
		q.Triggers = []parley.SessionTrigger{*r.Trigger}
	}
}

func (s *Service) addTurn(q *Query, name string, state *fold.State, seat parley.Participant, claimID string) error {
	claim, err := findClaim(state, seat.ID, claimID)
	if err != nil || !seat.Kind.Claims() {
		return err
	}
	q.Agent = AgentOf(s.opts.FindSeated(name))
	for _, w := range state.MatchesOf(seat.ID, claim) {
		q.Triggers = append(q.Triggers, parley.SessionTrigger{Seq: w.Seq, Selector: w.Selector, Workspace: w.Workspace})
	}
	return nil
}

// findSeat returns the index of the seat whose context is requested, if p may have it.
func findSeat(p *auth.Principal, state *fold.State, q *parley.GetContextParams) (int, error) {
	named := ""
	switch c := state.Claim; {
	case q.AgentID != "":
		named = q.AgentID
	case c != nil && q.ClaimID != "" && eventdata.HashClaim(q.ClaimID) == c.Hash:
		named = c.AgentID
	case state.Session != nil:
		named = state.Session.AgentID
	}
	caller, visible := p.Resolve(state, named)
	if !visible && !p.Reads(state) {
		return 0, auth.ErrNotFound
	}
	id := cmp.Or(q.AgentID, caller.AgentID)
	i := state.Seat(id)
	switch {
	case i < 0:
		return 0, parley.Refuse(parley.ErrForbidden, policy.Clip(id)+" takes no part in the conversation",
			"agentId of a participant that the token may speak as")
	case !mayHaveContext(p, state, i):
		return 0, parley.Refuse(parley.ErrForbidden,
			fmt.Sprintf("the context of %s is for who may speak as that, or runs it", policy.Clip(id)), "a token that may")
	}
	return i, nil
}

// mayHaveContext reports whether p has a seat, runs its agent, or is an admin. A token for one turn
// is for the seat of that turn.
func mayHaveContext(p *auth.Principal, state *fold.State, i int) bool {
	if p.Claim() != nil {
		return p.HasCurrentClaim(state) && state.Claim.AgentID == state.Participants[i].ID
	}
	return p.Admin() || p.MaySit(state, i)
}

// findClaim returns the claim of a seat with an id, or without an id its current claim or nil.
func findClaim(state *fold.State, seat, id string) (*fold.Claim, error) {
	c := state.Claim
	switch _, ok := eventdata.ClaimTurn(id); {
	case id == "" && (c == nil || c.AgentID != seat):
		return nil, nil
	case id == "":
		return c, nil
	case !ok:
		return nil, eventdata.ErrNoClaimID
	case c == nil || c.Hash != eventdata.HashClaim(id):
		return nil, parley.Refuse(parley.ErrClaimLost,
			"the claim is no longer current", "the claim of the turn that is under way")
	case c.AgentID != seat:
		return nil, parley.Refuse(parley.ErrForbidden, "the claim is of "+c.AgentID, "agentId of the claim's participant")
	}
	return c, nil
}
