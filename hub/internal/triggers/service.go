package triggers

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/sessions"
	"github.com/parleyhub/parley/internal/selector"
)

// Options of a Service. All fields are required.
type Options struct {
	Engine   *conv.Engine
	Auth     *auth.Service
	Sessions *sessions.Service
	// NewID makes the id of a session.
	NewID func(prefix string) string
	// FollowRunners reads what runners registered at other hubs.
	FollowRunners func() error
	// AwaitRecovery waits until every open conversation was loaded once after a start.
	AwaitRecovery func(context.Context) error
	// FetchContext returns what the context selectors of an agent select now.
	FetchContext func(context.Context, *ContextQuery) ([]parley.ContextSource, error)
}

// ContextQuery asks for the context of an agent that an event triggers.
type ContextQuery struct {
	By             *auth.Principal // may not see all of the context
	Agent          *Agent
	AgentID        string
	ConversationID string // of the event
	Trigger        parley.SessionTrigger
	Deadline       time.Time
}

// Agent is an agent with subscriptions, of one runner.
type Agent struct {
	Set        *selector.Set // of this registration only
	Workspaces []string      // that its runner was granted
	Session    *sessions.Agent
}

func (a *Agent) isGranted(workspace string) bool { return auth.IsGranted(a.Workspaces, workspace) }

// isSame reports whether a and b are of the same registration; b may be nil.
func (a *Agent) isSame(b *Agent) bool { return b != nil && a.Set == b.Set }

// Service matches events with the agents that subscribe, and starts their sessions.
type Service struct {
	opts   Options
	engine *conv.Engine
	queue  *sessions.Queue

	known atomic.Int64 // the number of names with subscriptions

	mu      sync.RWMutex                       // guards the fields below
	agents  map[string]*Agent                  // by plain name: of the first runner with subscriptions
	indexes map[string]*selector.Index[string] // by workspace: the names of the agents that watch it
	watches map[string]map[string]*Agent       // what indexes has, by plain name and workspace

	startsMu sync.Mutex          // guards the fields below
	waiting  map[string]struct{} // conversations with sessions that wait for room in their tree
	tried    map[string]int64    // the seqs of conversations whose starts run or failed
}

// New returns a Service.
func New(o Options) *Service {
	s := &Service{
		opts: o, engine: o.Engine, agents: make(map[string]*Agent),
		indexes: make(map[string]*selector.Index[string]), watches: make(map[string]map[string]*Agent),
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

// SetAgents replaces the agents of a name; the first one that registered is first. Calls for one name
// must be made in the order of their registrations.
func (s *Service) SetAgents(name string, agents []*Agent) {
	watched := make(map[string]*Agent) // by workspace
	for _, a := range agents {
		if !slices.ContainsFunc(a.Set.Subscriptions.Selectors, isWatch) {
			continue
		}
		for _, w := range a.Workspaces {
			if watched[w] == nil {
				watched[w] = a
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.agents, name); len(agents) > 0 {
		s.agents[name] = agents[0]
	}
	for w, a := range s.watches[name] {
		if x := s.indexes[w]; !a.isSame(watched[w]) {
			if x.Remove(name); x.Len() == 0 {
				delete(s.indexes, w)
			}
		}
	}
	for w, a := range watched {
		if a.isSame(s.watches[name][w]) {
			continue
		}
		if s.indexes[w] == nil {
			s.indexes[w] = &selector.Index[string]{}
		}
		s.indexes[w].Put(name, a.Set)
	}
	if delete(s.watches, name); len(watched) > 0 {
		s.watches[name] = watched
	}
	s.known.Store(int64(len(s.agents)))
}

// isWatch reports whether a selector is a trigger for the conversations of a workspace.
func isWatch(s parley.Selector) bool { return s.Trigger() && s.Workspace() }

// FindSeated returns the agent of a plain name, for its seats; nil if it has no subscriptions.
func (s *Service) FindSeated(name string) *Agent {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.agents[name]
}

// findWatcher returns the agent of a plain name that watches a workspace, or nil.
func (s *Service) findWatcher(name, workspace string) *Agent {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.findWatcherLocked(name, workspace)
}

func (s *Service) findWatcherLocked(name, workspace string) *Agent {
	if a := s.watches[name][workspace]; a != nil || workspace == "" {
		return a
	}
	return s.watches[name][auth.AnyWorkspace]
}

// QueueWaiting queues each conversation with sessions that wait, because runners have changed.
func (s *Service) QueueWaiting(foreign bool) {
	s.startsMu.Lock()
	defer s.startsMu.Unlock()
	for id := range s.waiting {
		s.queue.AddAfter(id, foreign)
	}
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
