package turns

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/desk"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/cluster"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/internal/limits"
)

// executor is a connection that runs agents. Only its load changes; a new registration is a new executor.
type executor struct {
	key, id  string
	by       *auth.Principal
	conn     *Connection
	agents   []string
	serves   []string // agents and the key: what it can be asked for; see fold.State.ServedBy
	labels   map[string]string
	push     bool
	capacity int
	graceMs  int64
	stamp    int64 // orders the registrations of one key

	load         int                  // claims of its connection; guarded by Dispatcher.mu, as are the next
	missed       bool                 // something may wait that it was not asked for
	pending      map[string]desk.Time // conversations whose turn it was offered, and until when that counts
	pendingUntil desk.Time            // the earliest time in pending, or an earlier one
}

// maxOffered bounds the turns that one executor is offered at once. So many requests fit into the
// out-buffer of a slow connection.
const maxOffered = 256

// view returns x as a desk sees it.
func (x *executor) view(now desk.Time) desk.Executor {
	if now >= x.pendingUntil {
		x.pendingUntil = now + desk.Time(limits.MaxClaimWindowMs)
		maps.DeleteFunc(x.pending, func(_ string, until desk.Time) bool {
			if until > now {
				x.pendingUntil = min(x.pendingUntil, until)
			}
			return until <= now
		})
	}
	load := x.load + len(x.pending)
	full := load >= x.capacity || len(x.pending) >= maxOffered
	x.missed = x.missed || full
	return desk.Executor{Key: x.key, ID: x.id, Internal: x.conn.internal, Holds: x.load, Load: load, Full: full}
}

// offer records that x was offered the turn of a conversation, which counts until a time.
func (x *executor) offer(conversation string, until desk.Time) {
	x.pending[conversation] = until
	x.pendingUntil = min(x.pendingUntil, until)
}

func (x *executor) info() parley.ExecutorInfo {
	mode := parley.ModePull
	if x.push {
		mode = parley.ModePush
	}
	return parley.ExecutorInfo{
		ExecutorID: x.id, RegisteredBy: x.by.AgentID, Internal: x.conn.internal, Mode: mode,
		Agents: append([]string{}, x.agents...), Labels: maps.Clone(x.labels), Claims: x.load, Capacity: x.capacity,
	}
}

// executorBytes is about the size of an executor in the answer of listAgents.
func executorBytes(x *parley.ExecutorInfo) int {
	n := 200 + len(x.ExecutorID) + len(x.RegisteredBy)
	for _, name := range x.Agents {
		n += len(name) + 3
	}
	for k, v := range x.Labels {
		n += 6 * (len(k) + len(v))
	}
	return n
}

// executors has the executors that are connected to this hub, and looks up those of other hubs.
type executors struct {
	engine   *conv.Engine
	presence *cluster.Presence
	runners  Runners

	mu      *sync.Mutex // Dispatcher.mu; guards the fields below
	byKey   map[string]*executor
	serving map[string][]*executor // by the name of an agent, and by key
	stamp   int64                  // the highest that is known
}

func newExecutors(mu *sync.Mutex, e *conv.Engine) *executors {
	return &executors{engine: e, mu: mu, byKey: make(map[string]*executor), serving: make(map[string][]*executor)}
}

func (e *executors) putLocked(x *executor) {
	e.byKey[x.key] = x
	e.runners.Connected(x.key)
	e.presence.Changed()
}

// serveLocked lets x be asked, unless it was removed. It reports whether it was not.
func (e *executors) serveLocked(x *executor) bool {
	if e.byKey[x.key] != x {
		return false
	}
	for _, name := range x.serves {
		e.serving[name] = append(e.serving[name], x)
	}
	x.missed = true
	return true
}

func (e *executors) removeLocked(x *executor) {
	if e.byKey[x.key] == x {
		delete(e.byKey, x.key)
		e.runners.Disconnected(x.key)
		e.presence.Changed()
	}
	for _, name := range x.serves {
		e.serving[name] = slices.DeleteFunc(e.serving[name], func(o *executor) bool { return o == x })
		if len(e.serving[name]) == 0 {
			delete(e.serving, name)
		}
	}
}

// candidatesLocked returns the executors that may be asked for a turn, as a desk sees them.
func (e *executors) candidatesLocked(
	conversation, serves string, demands map[string]string, now desk.Time,
) (all []desk.Executor) {
	for _, x := range e.serving[serves] {
		if x.push && x.by.Reaches(conversation) && x.by.Valid(e.engine.Now()) == nil && fold.MeetsDemands(x.labels, demands) {
			all = append(all, x.view(now))
		}
	}
	return all
}

// withRoomLocked returns the executor that is registered as x, if it was not asked for something that may
// wait now, and has room for it; else nil.
func (e *executors) withRoomLocked(x *executor, now desk.Time) *executor {
	if x = e.byKey[x.key]; x == nil || !x.push || !x.missed || x.view(now).Full || x.by.Valid(e.engine.Now()) != nil {
		return nil
	}
	return x
}

// olderLocked returns the executors here that are older than those with the same key at another hub.
func (e *executors) olderLocked(hubID string, others map[string]*cluster.Executor) (older []*executor) {
	for key, o := range others {
		x := e.byKey[key]
		if x == nil || x.conn.internal || o.Internal { // each hub has its executors of this name in its process
			continue
		}
		if isNewer(o, hubID, x, e.presence.ID()) {
			older = append(older, x)
		}
	}
	return older
}

// RunnersByAgent returns, for each agent of an executor, the participant that registered one of its
// executors; empty for the hub's process.
func (e *executors) RunnersByAgent() map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make(map[string]string, len(e.serving))
	for name, all := range e.serving {
		if !parley.ValidParticipantID(name) {
			continue // the key of an executor
		}
		out[name] = all[0].by.AgentID
		if all[0].conn.internal {
			out[name] = ""
		}
	}
	e.presence.EachExecutor(func(x *cluster.Executor) {
		for _, name := range x.Agents {
			if _, here := out[name]; here {
				continue
			}
			if out[name] = x.By; x.Internal {
				out[name] = ""
			}
		}
	})
	return out
}

// OwnersByAgent returns, for each agent of an executor, the participants that registered its executors.
func (e *executors) OwnersByAgent() map[string][]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make(map[string][]string, len(e.byKey))
	for _, x := range e.byKey { // also one that was registered a moment ago and is not asked yet
		for _, name := range x.agents {
			out[name] = append(out[name], x.by.AgentID)
		}
	}
	e.presence.EachExecutor(func(x *cluster.Executor) {
		for _, name := range x.Agents {
			out[name] = append(out[name], x.By)
		}
	})
	return out
}

// IsOnline reports whether an executor for a seat is registered at any hub of the journal.
func (e *executors) IsOnline(s *fold.State, i int) bool {
	seat, serves := s.Participants[i], s.ServedBy(i)
	e.mu.Lock()
	here := slices.ContainsFunc(e.serving[serves], func(x *executor) bool {
		// A pull executor, which is not asked, looks for turns of its owner's seat only.
		return fold.AllowsPlace(seat.Executor, x.conn.internal) && (x.push || x.by.AgentID == seat.ID)
	})
	e.mu.Unlock()
	return here || e.presence.Serves(serves, func(x *cluster.Executor) bool {
		return fold.AllowsPlace(seat.Executor, x.Internal) && (x.Push || x.By == seat.ID)
	})
}

// HasExecutor reports whether an executor of an agent is registered at any hub of the journal.
func (e *executors) HasExecutor(agent string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, x := range e.byKey { // also one that was registered a moment ago and is not asked yet
		if slices.Contains(x.agents, agent) {
			return true
		}
	}
	return e.presence.Serves(agent, func(*cluster.Executor) bool { return true })
}

// IsConnected reports whether the executor with a key is connected to this hub.
func (e *executors) IsConnected(key string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.byKey[key] != nil
}

// WithConnected calls f with the connected executors locked: none connects or disconnects meanwhile.
func (e *executors) WithConnected(f func(isConnected func(key string) bool)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(func(key string) bool { return e.byKey[key] != nil })
}

// ListExecutors returns the executors that p may see, as many as fit into room bytes, and the number of
// the others.
func (e *executors) ListExecutors(p *auth.Principal, room int) (list []parley.ExecutorInfo, more int) {
	var all []parley.ExecutorInfo
	e.mu.Lock()
	for _, x := range e.byKey {
		if p.OwnsRegistration(x.by.AgentID) {
			all = append(all, x.info())
		}
	}
	e.mu.Unlock()
	slices.SortFunc(all, func(a, b parley.ExecutorInfo) int {
		return cmp.Or(cmp.Compare(a.RegisteredBy, b.RegisteredBy), cmp.Compare(a.ExecutorID, b.ExecutorID))
	})
	for i := range all {
		if room -= executorBytes(&all[i]); room < 0 {
			return all[:i], len(all) - i
		}
	}
	return all, 0
}

// Executors returns the executors that are connected to this hub, for the other hubs.
func (e *executors) Executors() []cluster.Executor {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]cluster.Executor, 0, len(e.byKey))
	for _, x := range e.byKey {
		all = append(all, cluster.Executor{
			Key: x.key, By: x.by.AgentID, Agents: x.agents, Push: x.push, Internal: x.conn.internal, Stamp: x.stamp,
		})
	}
	return all
}

// nextStamp returns the stamp of a new registration. Stamps order the registrations of an executor, also
// at different hubs: the older one ends. A stamp is higher than all that its hub knows, and at least the
// time in ms. No decision depends on it: if two executors with one key exist for a while, the log decides
// which of them speaks.
func (e *executors) nextStamp() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stamp = max(e.stamp+1, e.engine.Now().UnixMilli())
	return e.stamp
}

// HighestStamp returns the highest stamp of a registration that this hub knows.
func (e *executors) HighestStamp() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stamp
}

// SeeStamp records a stamp that another hub knows.
func (e *executors) SeeStamp(stamp int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stamp = max(e.stamp, stamp)
}

// isNewer reports whether an executor at another hub was registered after x at this one. Of two
// registrations at the same time every hub selects the same one.
func isNewer(o *cluster.Executor, there string, x *executor, here string) bool {
	if o.Stamp == 0 {
		return false
	}
	return cmp.Or(cmp.Compare(o.Stamp, x.stamp), cmp.Compare(there, here)) > 0
}

// demand is what an executor must serve, inside the hub or outside.
type demand struct {
	serves   string
	internal bool
}

// waiter is a conversation that waits for an executor, and since when its turn is the current one.
type waiter struct {
	since parley.Timestamp
	id    string
}

func (a waiter) compare(b waiter) int {
	return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.id, b.id))
}

// place is where a conversation waits: in the queues of its demands, by the time since.
type place struct {
	since   parley.Timestamp
	demands []demand
}

// queues has the conversations that wait for an executor, by demand, the longest first. Dispatcher.mu
// guards it.
type queues map[demand][]waiter

// move moves a conversation from its place p to next.
func (q queues) move(id string, p *place, next place) {
	for _, w := range p.demands {
		if next.since != p.since || !slices.Contains(next.demands, w) {
			q.remove(w, waiter{p.since, id})
		}
	}
	one := waiter{next.since, id}
	for _, w := range next.demands {
		if i, found := slices.BinarySearchFunc(q[w], one, waiter.compare); !found {
			q[w] = slices.Insert(q[w], i, one)
		}
	}
	*p = next
}

func (q queues) remove(w demand, one waiter) {
	i, found := slices.BinarySearchFunc(q[w], one, waiter.compare)
	switch {
	case !found:
	case len(q[w]) == 1:
		delete(q, w)
	default:
		q[w] = slices.Delete(q[w], i, i+1)
	}
}

// waitingFor returns what waits for an executor, the longest first over all that it serves.
func (q queues) waitingFor(serves []string, internal bool) iter.Seq2[string, string] {
	type queue struct {
		name string
		rest []waiter
	}
	var all []queue
	for _, name := range serves {
		if rest := q[demand{name, internal}]; len(rest) > 0 {
			all = append(all, queue{name, rest})
		}
	}
	return func(yield func(name, id string) bool) {
		for len(all) > 0 {
			first := 0
			for i := range all {
				if all[i].rest[0].compare(all[first].rest[0]) < 0 {
					first = i
				}
			}
			a := &all[first]
			name, id := a.name, a.rest[0].id
			if a.rest = a.rest[1:]; len(a.rest) == 0 {
				all = slices.Delete(all, first, first+1)
			}
			if !yield(name, id) {
				return
			}
		}
	}
}
