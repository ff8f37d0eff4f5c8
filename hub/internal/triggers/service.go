// Package triggers matches events with the subscriptions of agents, starts the sessions that events
// start, and writes their answers. A match is part of the decision on its event and is logged with it,
// so it is never lost; the session starts later, from the log.
//
// # Guarantees
//
//   - Each match in a log has at most one session, also after a crash and with several hubs: the match
//     has the id of its session.
//   - An event gets one answer for each match that starts a session. If the session cannot start, the
//     answer has the reason.
//   - Subscriptions are matched without a lock and before the decision. While no agent has
//     subscriptions, nothing is matched.
//
// # Goroutines
//
//	| goroutine | started by | does |
//	|---|---|---|
//	| Service.Run | the hub | runs the queue (see package sessions) once the hub knows which sessions run |
//
// # Locks
//
//	| mutex | guards | taken |
//	|---|---|---|
//	| Service.mu | the agents with subscriptions | after the mutex of the runners |
//	| Service.startsMu | the conversations whose sessions wait | after Conversation.mu and that of sessions |
//
// Neither is taken while the other is held.
package triggers

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/agentcontext"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/registry"
	"github.com/parleyhub/parley/hub/internal/sessions"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/selector"
)

// Options of a Service. All fields are required.
type Options struct {
	Engine   *conv.Engine
	Auth     *auth.Service
	Registry *registry.Registry
	Sessions *sessions.Service
	Contexts *agentcontext.Service
	// NewID makes the id of a session.
	NewID func(prefix string) string
	// AwaitRecovery waits until every open conversation was loaded once after a start.
	AwaitRecovery func(context.Context) error
}

func isGranted(b *registry.Blueprint, workspace string) bool {
	return auth.IsGranted(b.Runner.Workspaces, workspace)
}

// Service matches events with the agents that subscribe, and starts their sessions.
type Service struct {
	opts   Options
	engine *conv.Engine
	queue  *sessions.Queue

	known atomic.Int64 // the number of names with subscriptions

	mu      sync.RWMutex                              // guards the fields below
	agents  map[string]*registry.Blueprint            // by plain name: of the first runner with subscriptions
	indexes map[string]*selector.Index[string]        // by workspace: the names of the agents that watch it
	watches map[string]map[string]*registry.Blueprint // what indexes has, by plain name and workspace

	startsMu sync.Mutex          // guards the fields below
	waiting  map[string]struct{} // conversations with sessions that wait for room in their tree
	tried    map[string]int64    // the seqs of conversations whose starts run or failed
}

// New returns a Service.
func New(o Options) *Service {
	s := &Service{
		opts: o, engine: o.Engine, agents: make(map[string]*registry.Blueprint),
		indexes: make(map[string]*selector.Index[string]), watches: make(map[string]map[string]*registry.Blueprint),
		waiting: make(map[string]struct{}), tried: make(map[string]int64),
	}
	s.queue = sessions.NewQueue(o.Engine, s.startSessions)
	return s
}

// Run starts sessions until the hub ends. It waits until the hub knows which sessions run, and so how
// much room each tree has.
func (s *Service) Run() {
	if s.opts.AwaitRecovery(s.engine.Context()) == nil {
		s.queue.Run()
	}
}

// RunnersChanged implements registry.Observer: it queues what may wait for the runners.
func (s *Service) RunnersChanged(runners []parley.RunnerRef, foreign bool) {
	for _, ref := range runners {
		s.opts.Sessions.QueueOfRunner(ref, foreign)
	}
	s.startsMu.Lock()
	defer s.startsMu.Unlock()
	for id := range s.waiting {
		s.queue.AddAfter(id, foreign)
	}
}

// SubscriptionsChanged implements registry.Observer: it replaces the agents of a name.
func (s *Service) SubscriptionsChanged(name string, blueprints []*registry.Blueprint) {
	var seated *registry.Blueprint
	watched := make(map[string]*registry.Blueprint) // by workspace
	for _, b := range blueprints {
		if b.Selectors == nil {
			continue
		}
		seated = cmp.Or(seated, b)
		if !slices.ContainsFunc(b.Selectors.Subscriptions.Selectors, isWatch) {
			continue
		}
		for _, w := range b.Runner.Workspaces {
			watched[w] = cmp.Or(watched[w], b)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.agents, name); seated != nil {
		s.agents[name] = seated
	}
	for w, b := range s.watches[name] {
		if x := s.indexes[w]; b != watched[w] {
			if x.Remove(name); x.Len() == 0 {
				delete(s.indexes, w)
			}
		}
	}
	for w, b := range watched {
		if b == s.watches[name][w] {
			continue
		}
		if s.indexes[w] == nil {
			s.indexes[w] = &selector.Index[string]{}
		}
		s.indexes[w].Put(name, b.Selectors)
	}
	if delete(s.watches, name); len(watched) > 0 {
		s.watches[name] = watched
	}
	s.known.Store(int64(len(s.agents)))
}

// isWatch reports whether a selector is a trigger for the conversations of a workspace.
func isWatch(s parley.Selector) bool { return s.Trigger() && s.Workspace() }

// FindSeated returns the agent of a plain name, for its seats; nil if it has no subscriptions.
func (s *Service) FindSeated(name string) *registry.Blueprint {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.agents[name]
}

// findWatcher returns the agent of a plain name that watches a workspace, or nil.
func (s *Service) findWatcher(name, workspace string) *registry.Blueprint {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.findWatcherLocked(name, workspace)
}

func (s *Service) findWatcherLocked(name, workspace string) *registry.Blueprint {
	if a := s.watches[name][workspace]; a != nil || workspace == "" {
		return a
	}
	return s.watches[name][auth.AnyWorkspace]
}

// FreedTree implements sessions.Triggers: it queues the root of a tree in which a session ended, if
// sessions wait for room there.
func (s *Service) FreedTree(root string) {
	s.startsMu.Lock()
	defer s.startsMu.Unlock()
	if _, waits := s.waiting[root]; waits {
		s.queue.Add(root)
	}
}

// event is a note or a final message as selectors see it, before or after the decision.
type event struct {
	from   string
	isNote bool
	selector.Event
}

func eventOfNote(from string, n *parley.Note) *event {
	return &event{from, true, selector.Event{Type: parley.TypeSystem, Schema: n.Schema, Tags: n.Tags, Data: n.Data}}
}

func eventOfMessage(from string, payload []byte) (*event, error) {
	var m parley.Message
	if err := m.UnmarshalJSON(payload); err != nil {
		return nil, err
	}
	return &event{from, false, selector.Event{Type: parley.TypeMessage, Schema: m.Schema, Tags: m.Tags, Data: m.Data}}, nil
}

// eventOfLog returns an event of the log, or nil if it triggers no one: it is neither a note nor a
// message with which a participant ends a turn.
func eventOfLog(e *parley.Event) (*event, error) {
	switch {
	case e.Type == parley.TypeMessage && e.Finality == parley.FinalityTurn && e.From != parley.HubID:
		return eventOfMessage(e.From, e.Payload)
	case e.Type != parley.TypeSystem:
		return nil, nil
	}
	sys, err := e.System()
	if err != nil || sys.Kind != parley.KindNote {
		return nil, err
	}
	return eventOfNote(e.From, &parley.Note{Schema: sys.Schema, Tags: sys.Tags, Data: sys.Data}), nil
}

// MatchNote returns the agents that a note triggers. It is called before the decision on the note,
// without the lock of the conversation.
func (s *Service) MatchNote(c *conv.Conversation, from string, n *parley.Note) []parley.Wake {
	if s.known.Load() == 0 || conv.Reserved(c.ID()) {
		return nil
	}
	head := c.Head()
	return s.match(&head, eventOfNote(from, n))
}

// MatchMessage is MatchNote for a message that ends a turn.
func (s *Service) MatchMessage(c *conv.Conversation, from string, payload []byte) []parley.Wake {
	if s.known.Load() == 0 || conv.Reserved(c.ID()) {
		return nil
	}
	head := c.Head()
	if head.Policy.Kind != parley.PolicyTriggers && head.Workspace == "" {
		return nil
	}
	e, err := eventOfMessage(from, payload)
	if err != nil {
		return nil // the decision refuses the message
	}
	return s.match(&head, e)
}

func (s *Service) match(state *fold.State, e *event) []parley.Wake {
	if s.known.Load() == 0 || state.Session != nil || state.Closed() {
		return nil
	}
	return append(s.matchSeats(state, e), s.matchWatchers(state, e)...)
}

// matchSeats matches the agents that take part: a note starts their sessions, and a message makes their
// turns if the policy depends on triggers.
func (s *Service) matchSeats(state *fold.State, e *event) []parley.Wake {
	if !e.isNote && state.Policy.Kind != parley.PolicyTriggers {
		return nil
	}
	var out []parley.Wake
	matched := make(map[*registry.Blueprint]int) // an agent may have many seats
	for _, seat := range state.Participants {
		if !seat.Kind.Claims() {
			continue
		}
		name := fold.AgentName(seat)
		a := s.FindSeated(name)
		if a == nil || e.from == seat.ID && !a.Selectors.Subscriptions.IncludeSelf {
			continue
		}
		i, ok := matched[a]
		if !ok {
			i = matchSeated(a, &e.Event, state.Workspace)
			matched[a] = i
		}
		if i >= 0 {
			out = append(out, s.newWake(a, name, seat.ID, i, e.isNote))
		}
	}
	return out
}

// matchSeated returns the first trigger that matches an event where the agent takes part, or -1.
// Triggers for the workspace count if the workspace was granted.
func matchSeated(a *registry.Blueprint, e *selector.Event, workspace string) int {
	here := a.Selectors.Wakes(e, false)
	if !isGranted(a, workspace) {
		return here
	}
	there := a.Selectors.Wakes(e, true)
	if here < 0 || there >= 0 && there < here {
		return there
	}
	return here
}

// newWake returns a match that waits for a session, if startsSession, or else for a turn.
func (s *Service) newWake(a *registry.Blueprint, name, seat string, i int, startsSession bool) parley.Wake {
	w := parley.Wake{Agent: name, AgentID: seat, Selector: i}
	if !startsSession {
		return w
	}
	w.SessionID, w.AnswerSchema = s.opts.NewID(conv.SessionPrefix), a.Selectors.Subscriptions.AnswerSchema
	switch {
	case w.AnswerSchema != "":
	case a.Kind() == parley.AgentTypeAgent:
		w.AnswerSchema = parley.AgentResponseSchema
	default:
		w.AnswerSchema = parley.ToolResponseSchema
	}
	return w
}

// matchWatchers matches the agents that watch the workspace of the conversation and take no part in it.
func (s *Service) matchWatchers(state *fold.State, e *event) []parley.Wake {
	if state.Workspace == "" {
		return nil
	}
	var out []parley.Wake
	for _, workspace := range []string{state.Workspace, auth.AnyWorkspace} {
		s.mu.RLock()
		x := s.indexes[workspace]
		s.mu.RUnlock()
		if x == nil {
			continue
		}
		most := limits.MaxWatchers + 2*len(state.Participants) + 1 // some may take part, or be the author
		hits, _ := x.Match(&e.Event, most)
		for _, h := range hits {
			s.mu.RLock()
			a, counts := s.watches[h.Key][workspace], s.findWatcherLocked(h.Key, state.Workspace)
			s.mu.RUnlock()
			switch {
			case len(out) == limits.MaxWatchers:
				return out
			case a == nil || a != counts, isTaken(state, h.Key), // a is nil if it has just left
				e.from == h.Key && !a.Selectors.Subscriptions.IncludeSelf:
				continue
			}
			w := s.newWake(a, h.Key, h.Key, h.Selector, true)
			w.Workspace = true
			out = append(out, w)
		}
	}
	return out
}

// isTaken reports whether an agent takes part, or another participant has its name, so that a watcher
// of that name would be confused with it.
func isTaken(state *fold.State, name string) bool {
	return hasSeat(state, name) || state.HasParticipant(name)
}

func hasSeat(state *fold.State, name string) bool {
	return slices.ContainsFunc(state.Participants, func(p parley.Participant) bool {
		return p.Kind.Claims() && fold.AgentName(p) == name
	})
}
