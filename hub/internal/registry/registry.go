package registry

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/cluster"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/turns"
)

// Conversation is the id of the log of runners. Only admins see it.
const Conversation = "~runners"

// The reasons why a runner left, as they are in the log.
const (
	reasonLeft    = "left"
	reasonOffline = "offline"
)

// Options of a Registry.
type Options struct {
	Engine *conv.Engine
	Auth   *auth.Service
	Turns  *turns.Dispatcher
	// CheckSchema refuses a schema that callers could not send to the hub as JSON.
	CheckSchema func(raw json.RawMessage) error
}

// Observer is notified of changes of a Registry.
type Observer interface {
	// RunnersChanged is called after the records of runners changed. foreign is set if another hub may
	// have changed them.
	RunnersChanged(runners []parley.RunnerRef, foreign bool)
	// SubscriptionsChanged is called with the blueprints of an agent, the first registered one first.
	// It must neither keep the slice nor call the Registry, whose mutex is held.
	SubscriptionsChanged(agent string, blueprints []*Blueprint)
}

// Registry keeps the runners, their blueprints, and the agents of the process of the hub.
type Registry struct {
	engine   *conv.Engine
	auth     *auth.Service
	turns    *turns.Dispatcher
	opts     Options
	presence *cluster.Presence // nil if no other hub serves the journal
	observer Observer
	alarm    *conv.Clock // by the id of a runner that is away

	writing sync.Mutex // held while an event is checked, written and read back; guards the field below
	budgets budgets    // by participant

	reading sync.Mutex // held while the log is read; guards the field below
	seq     int64      // of the last event that was read

	mu        sync.Mutex                   // guards the fields below
	runners   map[string]*Runner           // by id
	byAgent   map[string][]*Blueprint      // by the name of the agent, the first registered one first
	hubAgents map[string]*parley.AgentInfo // of the process of the hub, by name
}

var _ turns.Runners = (*Registry)(nil)

// New returns a Registry. Call Connect and Load before any other method.
func New(o Options) *Registry {
	r := &Registry{
		engine: o.Engine, auth: o.Auth, turns: o.Turns, opts: o, budgets: make(budgets),
		runners: make(map[string]*Runner), byAgent: make(map[string][]*Blueprint),
		hubAgents: make(map[string]*parley.AgentInfo),
	}
	r.alarm = conv.NewClock(o.Engine, r.checkAway)
	return r
}

// Connect connects the Registry to other parts of the hub. presence is nil for the only hub of a
// journal.
func (r *Registry) Connect(presence *cluster.Presence, observer Observer) {
	r.presence, r.observer = presence, observer
}

// Run removes runners that are away for too long, until the hub ends.
func (r *Registry) Run() { r.alarm.Run() }

// Load reads the log. All runners are away then: the time before the start does not count. Schemas
// are compiled at the end, because a long log may have many records that later ones replace.
func (r *Registry) Load() error {
	if _, _, err := r.readLog(func(*Runner) bool { return true }); err != nil {
		return err
	}
	r.mu.Lock()
	loaded := slices.Collect(maps.Values(r.runners))
	r.mu.Unlock()
	for _, x := range loaded {
		r.compile(x)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.byAgent {
		r.observer.SubscriptionsChanged(name, r.byAgent[name])
	}
	return nil
}

// Follow reads what other hubs wrote to the log, and notifies the observer.
func (r *Registry) Follow() error {
	changed, offline, err := r.readLog(r.compile)
	if len(changed) == 0 || !r.engine.Shared() {
		return err
	}
	r.observer.RunnersChanged(changed, true)
	for _, x := range offline {
		r.restore(x)
	}
	return err
}

// readLog applies the events that were not read before, except for records that accept refuses. It
// returns the runners of these events, and the records of those that left because they were
// offline.
func (r *Registry) readLog(accept func(*Runner) bool) (changed []parley.RunnerRef, offline []*Runner, err error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	for {
		records, err := r.engine.Journal().Read(Conversation, r.seq, 1000, 4<<20)
		if err != nil || len(records) == 0 {
			return changed, offline, err
		}
		for _, record := range records {
			var e parley.Event
			if err := json.Unmarshal(record.Data, &e); err != nil {
				return changed, offline, err
			}
			sys, err := e.System()
			switch {
			case err != nil:
				return changed, offline, err
			case sys.Kind == parley.KindRunnerRegistered && sys.RunnerRecord != nil:
				if x := newRunner(sys.RunnerRecord); accept(x) {
					r.put(x)
				}
				changed = append(changed, sys.RunnerRecord.RunnerRef)
			case sys.Kind == parley.KindRunnerLeft && sys.RunnerRef != nil:
				if x := r.remove(*sys.RunnerRef); x != nil && sys.Reason == reasonOffline {
					offline = append(offline, x)
				}
				changed = append(changed, *sys.RunnerRef)
			}
			r.seq = record.Seq
		}
	}
}

// compile compiles the schemas and selectors of x. If that fails, an older version of the hub
// accepted them; then the runner is removed until it registers again.
func (r *Registry) compile(x *Runner) bool {
	err := x.compile()
	if err != nil {
		r.engine.Log().Error("cannot compile the blueprints of a runner", "runner", x.RunnerID, "error", err)
		r.remove(x.RunnerRef)
	}
	return err == nil
}

// put makes x the record of its runner, unless the id belongs to another participant. The blueprint
// of an agent that the runner had before keeps its place.
func (r *Registry) put(x *Runner) {
	r.turns.WithConnected(func(isConnected func(string) bool) {
		online := isConnected(x.key()) || r.presence.Has(x.key())
		r.mu.Lock()
		defer r.mu.Unlock()
		old := r.runners[x.RunnerID]
		if old != nil && old.ParticipantID != x.ParticipantID {
			return
		}
		r.runners[x.RunnerID] = x
		for name, b := range x.agents {
			all := r.byAgent[name]
			if i := slices.IndexFunc(all, func(o *Blueprint) bool { return o.Runner == old }); i >= 0 {
				all[i] = b
			} else {
				r.byAgent[name] = append(all, b)
			}
		}
		if old != nil {
			r.dropLocked(old)
		}
		for name := range x.agents {
			r.observer.SubscriptionsChanged(name, r.byAgent[name])
		}
		if !online {
			r.setAwayLocked(x)
		}
	})
}

// remove removes a runner and returns it, or nil.
func (r *Registry) remove(ref parley.RunnerRef) *Runner {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.findLocked(ref)
	if x != nil {
		delete(r.runners, ref.RunnerID)
		r.dropLocked(x)
	}
	return x
}

// dropLocked drops the blueprints of a runner that have no newer ones.
func (r *Registry) dropLocked(x *Runner) {
	for name := range x.agents {
		r.byAgent[name] = slices.DeleteFunc(r.byAgent[name], func(b *Blueprint) bool { return b.Runner == x })
		r.observer.SubscriptionsChanged(name, r.byAgent[name])
		if len(r.byAgent[name]) == 0 {
			delete(r.byAgent, name)
		}
	}
}

// write appends an event to the log, where seq is not 0 behind the event with that seq, and reads
// it. It waits for the commit. writing is held.
func (r *Registry) write(seq int64, ref parley.RunnerRef, sys parley.System) error {
	written := make(chan error, 1)
	r.engine.PinReserved(Conversation, "runners", func(c *conv.Conversation, err error) {
		if err != nil {
			written <- err
			return
		}
		c.Do(&conv.Request{
			Cmd:     fold.Command{Do: &fold.AddSystem{Event: &sys}, From: parley.HubID, Admin: true},
			Expects: seq, Reply: func(_ *fold.Decision, err error) { written <- err },
		})
	})
	if err := <-written; err != nil {
		return err
	}
	if err := r.Follow(); err != nil {
		return err
	}
	r.observer.RunnersChanged([]parley.RunnerRef{ref}, false)
	return nil
}
