package sessions

import (
	"context"
	"encoding/json"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
)

// Options of a Service. All fields are required.
type Options struct {
	Engine *conv.Engine
	Auth   *auth.Service
	Agents Agents
	// NewID makes the id of a session.
	NewID func(prefix string) string
	// AwaitRecovery waits until every open conversation was loaded once after a start.
	AwaitRecovery func(context.Context) error
	// WakeTurn has the turn of a conversation looked at. It is called with the mutex of Live held.
	WakeTurn func(conversation string, at parley.Timestamp)
	// CheckJSON refuses JSON that clients could not receive below some outer levels.
	CheckJSON func(raw json.RawMessage, outer int) error
}

// Agents looks up agents and their runners.
type Agents interface {
	// FindAgent returns the agent of a name, which may end with an @ and the id of a runner, or a
	// refusal. The agent has a Runner if one of its runners meets the demands.
	FindAgent(name string, demands map[string]string) (*Agent, error)
	// FindOnRunner returns the agent of a runner that meets the demands, or nil.
	FindOnRunner(name string, demands map[string]string) *Agent
	// IsRegistered reports whether a runner is registered, and whether with this agent of this type.
	IsRegistered(runner parley.RunnerRef, agent string, t parley.AgentType) (runnerIs, agentIs bool)
	// FollowRunners reads what runners registered at other hubs.
	FollowRunners() error
}

// Triggers is what a Service uses of the triggers.
type Triggers interface {
	// FreedTree is called when the tree of a conversation may have room for a session, with the
	// mutex of Live held.
	FreedTree(root string)
	// AddAnswer adds to the command that ends child in the log of parent the note with which child
	// answers the event that started it. It adds nothing if no event did.
	AddAnswer(parent, child *fold.State, answer *fold.Answer) (traceparent string, err error)
}

// Service starts sessions and records which of them run.
type Service struct {
	*Live
	Results
	opts     Options
	engine   *conv.Engine
	triggers Triggers
	queue    *Queue
}

// New returns a Service. Call Connect before any other method.
func New(o Options) *Service {
	s := &Service{opts: o, engine: o.Engine, Results: Results{o.Engine, o.CheckJSON}}
	s.Live = newLive(
		func(id string) { o.WakeTurn(id, parley.TimestampOf(o.Engine.Now())) },
		func(root string) { s.triggers.FreedTree(root) })
	s.queue = NewQueue(o.Engine, s.updateConversation)
	return s
}

// Connect connects the Service to the triggers, which start sessions through it.
func (s *Service) Connect(t Triggers) { s.triggers = t }

// Run makes what follows from the states of sessions until the hub ends.
func (s *Service) Run() { s.queue.Run() }

// Committed implements conv.Observer: it records which sessions run, and queues what follows from the
// state. What follows from a commit of another hub is delayed, because that hub does it first.
func (s *Service) Committed(c conv.Commit) {
	id, state := c.ID, c.State
	if !c.NeedsWork() || state.Session == nil && len(state.Children) == 0 && len(state.Callbacks) == 0 {
		return
	}
	foreign := c.Foreign(s.engine.Shared())
	if foreign {
		for _, child := range state.Children {
			s.confirm(child.ID, false)
		}
	}
	if s.track(id, state) || state.CallbackRecipient() != "" || state.Closed() && len(state.Children) > 0 {
		s.queue.AddAfter(id, foreign)
	}
	if c.Source == conv.FoundAtStart {
		for _, child := range state.Children {
			s.confirm(child.ID, true) // this log has its start
			s.queue.Add(child.ID)
		}
	}
}

// ReportMissed reports the start and the end of a session to its parent, whose log has neither. It is
// tried until it succeeds; further calls do nothing until then.
func (s *Service) ReportMissed(id string) {
	if s.miss(id) {
		s.queue.Add(id)
	}
}

// CheckEarly returns a refusal if an agent writes to its session before the log of the parent has its
// start. The state may be a head that is not committed.
func (s *Service) CheckEarly(state *fold.State, from string) error {
	r := state.Session
	if r == nil || r.Parent == "" || r.AgentID != from || state.Claim != nil || state.Closed() {
		return nil
	}
	if isLive, confirmed := s.confirmation(state.ID); isLive && confirmed == nil {
		return nil
	}
	return errEarly
}

var errEarly = &parley.Error{
	Err: parley.ErrUnavailable, Message: "the session has only just begun", Expected: "another try", RetryAfterMs: 100,
}

// QueueOfRunner queues the sessions of a runner that registered or left, here or at another hub, and
// those that wait for a runner.
func (s *Service) QueueOfRunner(ref parley.RunnerRef, foreign bool) {
	for _, id := range s.ofRunner(ref) {
		s.queue.AddAfter(id, foreign)
	}
}
