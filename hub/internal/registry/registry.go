// Package registry keeps the agents that can be asked to work: the blueprints that runners
// register, and the agents of the process of the hub. A [Registry] writes the records of runners to
// a reserved conversation. Its state is a fold of that log, and of the executors that are
// connected.
//
//	b, meets := r.Find("count", "", session.Demands)
//	if b == nil {
//		return errNoAgent
//	}
//
// # Guarantees
//
//   - A blueprint is found by the name of its agent. If several runners have a name, it means the
//     one that registered it first; the others are found as name@runnerId.
//   - A runner id belongs to the participant that registered it first, until the runner leaves.
//   - A runner leaves when it registers no blueprints, or when no hub of the journal has had a
//     connection of it for limits.OfflineMs.
//   - All rows of listAgents fit into one answer. A registration that does not fit is refused.
//
// # Goroutines
//
//	| goroutine | started by | does |
//	|---|---|---|
//	| Run | the hub | finds runners that are away for too long |
//	| a removal | Run | writes that such a runner left |
//	| a registration | RegisterBlueprints | compiles schemas, writes the record |
//	| a restore | Follow | registers a runner again that another hub removed by mistake |
//
// # Locks
//
//	| lock | is held while | before |
//	|---|---|---|
//	| Registry.writing | an event is written and read back | all others |
//	| Registry.reading | the log is read | turns.Dispatcher, Registry.mu |
//	| Registry.mu | memory is read or changed | cluster.Presence, observers of subscriptions |
//
// Connected and Disconnected are called with the mutex of turns.Dispatcher held, so that one is
// taken before Registry.mu.
package registry

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/cluster"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/turns"
	"github.com/parleyhub/parley/internal/limits"
)

// Conversation is the id of the log of runners. Only admins see it.
const Conversation = "~runners"

// The reasons why a runner left, as they are in the log.
const (
	reasonLeft    = "left"
	reasonOffline = "offline"
)

// SchemaLevel is the number of levels of a schema in the reply to listAgents.
const SchemaLevel = 4

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
	presence *cluster.Presence
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
func New(e *conv.Engine, a *auth.Service, t *turns.Dispatcher) *Registry {
	r := &Registry{
		engine: e, auth: a, turns: t, budgets: make(budgets),
		runners: make(map[string]*Runner), byAgent: make(map[string][]*Blueprint),
		hubAgents: make(map[string]*parley.AgentInfo),
	}
	r.alarm = conv.NewClock(e, r.checkAway)
	return r
}

// Connect connects the Registry to other parts of the hub.
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
	for e, err := range r.engine.History(Conversation, r.seq) {
		var sys parley.System
		if err == nil {
			sys, err = e.System()
		}
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
		r.seq = e.Seq
	}
	return changed, offline, nil
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

// Connected implements turns.Runners.
func (r *Registry) Connected(key string) { r.setOnline(key, true) }

// Disconnected implements turns.Runners. The runner may be connected to another hub.
func (r *Registry) Disconnected(key string) { r.setOnline(key, r.presence.Has(key)) }

// ExecutorsMoved is called with the keys of executors that other hubs have connected or lost.
func (r *Registry) ExecutorsMoved(keys []string) {
	r.turns.WithConnected(func(isConnected func(string) bool) {
		for _, key := range keys {
			r.setOnline(key, isConnected(key) || r.presence.Has(key))
		}
	})
}

func (r *Registry) setOnline(key string, online bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.runners {
		switch {
		case x.key() != key:
		case online:
			x.awaySince = 0
		case x.awaySince == 0:
			r.setAwayLocked(x)
		}
	}
}

func (r *Registry) setAwayLocked(x *Runner) {
	x.awaySince = r.now()
	r.alarm.Set(x.RunnerID, x.awaySince+limits.OfflineMs)
}

func (r *Registry) now() parley.Timestamp { return parley.TimestampOf(r.engine.Now()) }

// checkAway removes a runner that is offline.
func (r *Registry) checkAway(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.runners[id]
	switch {
	case x == nil || x.awaySince == 0:
	case x.isOffline(r.now()):
		ref := x.RunnerRef
		r.engine.Go(func() { r.removeOffline(ref) })
	default: // it was online for a while
		r.alarm.Set(id, x.awaySince+limits.OfflineMs)
	}
}

// removeOffline writes that a runner left. If that fails, or another event was written first, it
// tries again later. Every hub of a journal does this, so one of them acts first.
func (r *Registry) removeOffline(ref parley.RunnerRef) {
	if wait := r.presence.Patience(ref.RunnerID); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.engine.Context().Done():
			return
		}
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	err := r.Follow()
	r.reading.Lock()
	seq := r.seq
	r.reading.Unlock()
	r.mu.Lock()
	x := r.findLocked(ref)
	isOffline := x != nil && x.isOffline(r.now())
	r.mu.Unlock()
	if err == nil && isOffline {
		err = r.write(seq, ref, parley.System{Kind: parley.KindRunnerLeft, RunnerRef: &ref, Reason: reasonOffline})
	}
	if err != nil && r.engine.Err() == nil {
		r.alarm.Set(ref.RunnerID, r.now()+parley.Timestamp(conv.RetryWrite.Milliseconds()))
	}
}

// restore registers a runner again that another hub removed although it is connected to this one:
// the hubs had lost sight of each other.
func (r *Registry) restore(x *Runner) {
	r.mu.Lock()
	isBack := r.runners[x.RunnerID] != nil
	r.mu.Unlock()
	if isBack || !r.turns.IsConnected(x.key()) {
		return
	}
	r.engine.Go(func() {
		if err := r.save(x); err != nil {
			r.engine.Log().Error("a runner that is connected was taken to be offline", "runner", x.RunnerID, "error", err)
		}
	})
}
