package sessions

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

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
	// Recovered is closed when every open conversation was loaded once after a start.
	Recovered <-chan struct{}
	// WakeTurn has the turn of a conversation looked at. It is called with the mutex of the Service held.
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
	// mutex of the Service held.
	FreedTree(root string)
	// AddAnswer adds to the command that ends child in the log of parent the note with which child
	// answers the event that started it. It adds nothing if no event did.
	AddAnswer(parent, child *fold.State, answer *fold.Answer) (traceparent string, err error)
}

// Service starts sessions and records which of them run.
type Service struct {
	opts     Options
	engine   *conv.Engine
	triggers Triggers
	queue    *Queue

	mu    sync.Mutex // guards the fields below
	live  map[string]*session
	trees map[string]map[string]struct{} // ids of live sessions, and of those that start, by root
	// missed has sessions that ended before the log of the parent had their start.
	missed map[string]struct{}
	// unloaded has sessions that the log of a parent has, and that were not loaded yet after a start.
	unloaded map[string]struct{}
}

// session is one that has not ended. Service.mu guards it.
type session struct {
	parley.SessionRecord
	running   bool
	inParent  bool          // the log of the parent has the start, or there is no parent
	confirmed chan struct{} // closed once inParent becomes true, or the session ended before
}

// New returns a Service. Call Connect before any other method.
func New(o Options) *Service {
	s := &Service{
		opts: o, engine: o.Engine, live: make(map[string]*session), trees: make(map[string]map[string]struct{}),
		missed: make(map[string]struct{}), unloaded: make(map[string]struct{}),
	}
	s.queue = NewQueue(o.Engine, s.updateConversation)
	return s
}

// Connect connects the Service to the triggers, which start sessions through it.
func (s *Service) Connect(t Triggers) { s.triggers = t }

// Run makes what follows from the states of sessions until the hub ends.
func (s *Service) Run() { s.queue.Run() }

// Size returns the number of sessions in memory and of the places that they have in their trees.
func (s *Service) Size() (sessions, places int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, tree := range s.trees {
		places += len(tree)
	}
	return len(s.live) + len(s.missed), places
}

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
			s.confirmInParent(child.ID)
		}
	}
	if s.track(id, state) || state.CallsBackTo() != "" || state.Closed() && len(state.Children) > 0 {
		s.queue.AddAfter(id, foreign)
	}
	if c.Source == conv.FoundAtStart {
		s.recoverChildren(state)
	}
}

// track records a session, and reports whether it is new or ended.
func (s *Service) track(id string, state *fold.State) bool {
	if state.Session == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, x := state.Session, s.live[id]
	if state.Closed() {
		if x != nil && !x.inParent {
			s.missed[id] = struct{}{}
			close(x.confirmed)
		}
		delete(s.live, id)
		s.freeLocked(r.Root, id)
		s.triggers.FreedTree(r.Root)
		return true
	}
	isNew := x == nil
	if isNew {
		_, inParent := s.unloaded[id]
		x = &session{inParent: inParent || r.Parent == "", confirmed: make(chan struct{})}
		s.live[id] = x
		s.holdLocked(r.Root, id)
	}
	x.SessionRecord, x.running = *r, state.Claim != nil
	return isNew
}

// confirmInParent records that the log of the parent has the start of a session. From now on executors
// get it: before, a crash could lose the start after the session ran.
func (s *Service) confirmInParent(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.missed, id)
	if x := s.live[id]; x != nil && !x.inParent {
		x.inParent = true
		close(x.confirmed)
		s.opts.WakeTurn(id, parley.TimestampOf(s.engine.Now()))
	}
}

// ReportMissed reports the start and the end of a session to its parent, whose log has neither. It is
// tried until it succeeds; further calls do nothing until then.
func (s *Service) ReportMissed(id string) {
	s.mu.Lock()
	_, queued := s.missed[id]
	s.missed[id] = struct{}{}
	s.mu.Unlock()
	if !queued {
		s.queue.Add(id)
	}
}

// isMissed reports whether a session ended before the log of its parent had its start.
func (s *Service) isMissed(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, missed := s.missed[id]
	return missed
}

// MayRun reports whether executors may get a conversation. They may get a session once the log of its
// parent has its start.
func (s *Service) MayRun(id string) bool {
	if !strings.HasPrefix(id, conv.SessionPrefix) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.live[id]
	return x == nil || x.running || x.inParent
}

// CheckEarly returns a refusal if an agent writes to its session before the log of the parent has its
// start. The state may be a head that is not committed.
func (s *Service) CheckEarly(state *fold.State, from string) error {
	r := state.Session
	if r == nil || r.Parent == "" || r.AgentID != from || state.Claim != nil || state.Closed() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.live[state.ID]; x != nil && x.inParent {
		return nil
	}
	return errEarly
}

var errEarly = &parley.Error{
	Err: parley.ErrUnavailable, Message: "the session has only just begun", Expected: "another try", RetryAfterMs: 100,
}

// waitInParent waits until the log of the parent has the start of a session, or the session ended. If
// neither happens for the longest wait of a call, it returns nil, because the session exists.
func (s *Service) waitInParent(ctx context.Context, id string) error {
	s.mu.Lock()
	x := s.live[id]
	done := x == nil || x.inParent
	s.mu.Unlock()
	if done {
		return nil
	}
	timer := time.NewTimer(parley.MaxWaitMs * time.Millisecond)
	defer timer.Stop()
	select {
	case <-x.confirmed:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.engine.Draining():
		return conv.ErrDraining
	}
	return nil
}

// recoverChildren handles the children of an open conversation once after a start. They may run at
// once, because this log has their starts, and those that ended meanwhile are queued.
func (s *Service) recoverChildren(state *fold.State) {
	for _, c := range state.Children {
		s.mu.Lock()
		if s.live[c.ID] == nil {
			s.unloaded[c.ID] = struct{}{}
		}
		s.mu.Unlock()
		s.confirmInParent(c.ID)
		s.queue.Add(c.ID)
	}
}

// FinishRecovery implements turns.Sessions. It is called when every open conversation was loaded once
// after a start.
func (s *Service) FinishRecovery() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.unloaded)
}

// WaitRecovered waits until the hub knows which sessions run.
func (s *Service) WaitRecovered(ctx context.Context) error {
	select {
	case <-s.opts.Recovered:
		return nil
	case <-s.engine.Draining():
		return conv.ErrDraining
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Service) holdLocked(root, id string) {
	if s.trees[root] == nil {
		s.trees[root] = make(map[string]struct{}, 1)
	}
	s.trees[root][id] = struct{}{}
}

func (s *Service) freeLocked(root, id string) {
	delete(s.trees[root], id)
	if len(s.trees[root]) == 0 {
		delete(s.trees, root)
	}
}

// Runs reports whether a session is known to be started and not ended.
func (s *Service) Runs(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id] != nil
}

// HasRoom reports whether a tree has room for another session.
func (s *Service) HasRoom(root string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.trees[root]) < parley.MaxLiveSessions
}

// reserve takes a place in a tree for a session that is about to start.
func (s *Service) reserve(root, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, held := s.trees[root][id]; !held && len(s.trees[root]) >= parley.MaxLiveSessions {
		return ErrTreeFull
	}
	s.holdLocked(root, id)
	return nil
}

// ErrTreeFull means that a session has to wait until another one of its tree ended.
var ErrTreeFull = &parley.Error{
	Err: parley.ErrTooLarge, Message: "too many sessions of one tree run at once",
	Expected: "at most 64 that have not ended", RetryAfterMs: 1000,
}

// release frees a place that reserve took, unless the session started. Triggers are not notified of a
// place that they reserved, because they try again later.
func (s *Service) release(root, id string, notify bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live[id] != nil {
		return
	}
	if s.freeLocked(root, id); notify {
		s.triggers.FreedTree(root)
	}
}

// QueueOfRunner queues the sessions of a runner that registered or left, here or at another hub, and
// those that wait for a runner.
func (s *Service) QueueOfRunner(ref parley.RunnerRef, foreign bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, x := range s.live {
		if x.OfRunner() && (x.Runner == nil || *x.Runner == ref) {
			s.queue.AddAfter(id, foreign)
		}
	}
}

// SeatOf returns the seat as which p may write to a session that its runner runs; empty elsewhere.
func (s *Service) SeatOf(conversation string, p *auth.Principal) string {
	if !strings.HasPrefix(conversation, conv.SessionPrefix) {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.live[conversation]
	if x == nil || !x.running || x.Runner == nil || x.Runner.ParticipantID != p.AgentID {
		return ""
	}
	return x.AgentID
}
