package turns

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/desk"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/cluster"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/policy"
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

// RegisterExecutor registers p's connection as an executor. It waits until the hub knows all claims.
func (d *Dispatcher) RegisterExecutor(
	p *auth.Principal, q *parley.RegisterExecutorParams, done func(parley.RegisterExecutorResult, error),
) {
	fail := func(err error) { done(parley.RegisterExecutorResult{}, err) }
	x, err := d.newExecutor(p, q)
	if err == nil {
		err = d.engine.Begin()
	}
	if err != nil {
		fail(err)
		return
	}
	d.engine.Go(func() {
		defer d.engine.End()
		select {
		case <-d.recovered:
		case <-d.engine.Draining():
			fail(conv.ErrDraining)
			return
		}
		if err := d.engine.CatchUp(d.engine.Context()); err != nil {
			fail(err)
			return
		}
		if err := d.runners.Narrow(p, parley.RunnerRef{RunnerID: x.id, ParticipantID: p.AgentID}); err != nil {
			fail(err)
			return
		}
		d.register(x, q.Holding, done)
	})
}

func (d *Dispatcher) newExecutor(p *auth.Principal, q *parley.RegisterExecutorParams) (*executor, error) {
	if err := d.auth.AllowClaims(p, parley.MethodRegisterExecutor); err != nil {
		return nil, err
	}
	conn := ConnectionOf(p)
	if conn == nil {
		return nil, parley.Refuse(parley.ErrValidationFailed,
			"an executor needs a connection that stays", "registerExecutor on a WebSocket")
	}
	if err := checkExecutor(q); err != nil {
		return nil, err
	}
	for _, name := range q.Agents {
		if !p.MaySpeakAs(name) {
			return nil, parley.Refuse(parley.ErrForbidden, "the token does not speak as "+name, "agents of the token")
		}
	}
	key := fold.ExecutorKey(p.AgentID, q.ExecutorID)
	return &executor{
		key: key, id: q.ExecutorID, stamp: d.stamps.next(d.engine.Now()), by: p, conn: conn,
		agents: slices.Clone(q.Agents), serves: append(slices.Clone(q.Agents), key),
		labels: maps.Clone(q.Labels), push: q.Mode == parley.ModePush,
		pending: make(map[string]desk.Time), capacity: cmp.Or(q.Capacity, parley.DefaultCapacity),
		graceMs: cmp.Or(q.GraceMs, int64(parley.DefaultGraceMs)),
	}, nil
}

func checkExecutor(q *parley.RegisterExecutorParams) error {
	refuse := func(expected, format string, args ...any) error {
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf(format, args...), expected)
	}
	switch {
	case !parley.ValidParticipantID(q.ExecutorID):
		return refuse("1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit, not hub",
			"executorId %q is not acceptable", policy.Clip(q.ExecutorID))
	case len(q.Agents) > parley.MaxExecutorAgents:
		return refuse(fmt.Sprintf("at most %d", parley.MaxExecutorAgents), "agents: there are %d", len(q.Agents))
	case q.Mode != "" && !q.Mode.Valid():
		return refuse("pull or push", "mode is %q", policy.Clip(string(q.Mode)))
	case q.Capacity != 0 && (q.Capacity < 1 || q.Capacity > parley.MaxCapacity):
		return refuse(fmt.Sprintf("1 to %d", parley.MaxCapacity), "capacity is %d", q.Capacity)
	case q.GraceMs != 0 && (q.GraceMs < parley.MinGraceMs || q.GraceMs > parley.MaxGraceMs):
		return refuse(fmt.Sprintf("%d to %d", parley.MinGraceMs, parley.MaxGraceMs), "graceMs is %d", q.GraceMs)
	case len(q.Holding) > parley.MaxHolding:
		return refuse(fmt.Sprintf("at most %d", parley.MaxHolding), "holding: there are %d", len(q.Holding))
	}
	seen := map[string]bool{}
	for _, name := range q.Agents {
		if !parley.ValidParticipantID(name) || seen[name] {
			return refuse("different names like ids of participants",
				"agents: %q is no name of an agent, or there twice", policy.Clip(name))
		}
		seen[name] = true
	}
	return fold.CheckLabels("labels", q.Labels)
}

// register replaces the executor with the key of x by x, and ends the claims that x does not continue.
func (d *Dispatcher) register(x *executor, holding []string, done func(parley.RegisterExecutorResult, error)) {
	hashes := make([]fold.ClaimHash, len(holding)) // before the lock
	for i, id := range holding {
		hashes[i] = fold.HashClaim(id)
	}
	d.mu.Lock()
	if err := d.admitLocked(x); err != nil {
		d.mu.Unlock()
		done(parley.RegisterExecutorResult{}, err)
		return
	}
	result := parley.RegisterExecutorResult{OK: true, Holding: []string{}}
	kept := make(map[fold.ClaimHash]bool, len(holding))
	for i, id := range holding {
		if h := hashes[i]; d.moveClaimLocked(h, id, x) {
			kept[h] = true
			result.Holding = append(result.Holding, id)
		}
	}
	var over []abandoned
	for hash, h := range d.claims {
		if h.isBy(x) && h.conn != x.conn && !kept[hash] {
			over = append(over, abandoned{h, hash})
		}
	}
	d.mu.Unlock()
	d.endAbandoned(over, func(ended int) {
		result.Ended = ended
		done(result, nil)
		d.startServing(x)
	})
}

// errOvertaken is returned to a registration if a newer one of the same executor came first.
var errOvertaken = parley.Refuse(parley.ErrAlreadyExists,
	"another connection has registered as this executor since", "a separate executorId for each process")

// admitLocked makes x the executor of its connection.
func (d *Dispatcher) admitLocked(x *executor) error {
	if now := x.conn.executor.Load(); now != nil && now.key != x.key {
		return parley.Refuse(parley.ErrAlreadyExists,
			"the connection is registered as the executor "+now.id, "executorId "+now.id+", or another connection")
	}
	if x.conn.closed {
		return parley.Refuse(parley.ErrUnavailable, "the connection is closed", "")
	}
	old := d.executors[x.key]
	switch {
	case old == nil:
	case old.stamp > x.stamp: // x waited longer, for the log or the claims, than a newer registration
		if old.conn != x.conn && x.conn.replaced != nil {
			d.engine.Go(x.conn.replaced)
		}
		return errOvertaken
	case old.conn == x.conn:
		d.removeExecutorLocked(old)
		x.pending, x.stamp = old.pending, old.stamp // it is not a newer one
	default:
		d.replaceLocked(old)
	}
	d.executors[x.key] = x
	d.runners.Connected(x.key)
	d.presence.Changed()
	x.conn.executor.Store(x)
	for _, h := range d.claims {
		if h.conn == x.conn {
			d.assignLocked(h, x.conn)
		}
	}
	return nil
}

// replaceLocked ends the registration and the connection of an executor, because another connection
// registered as the same executor.
func (d *Dispatcher) replaceLocked(old *executor) {
	d.removeExecutorLocked(old)
	if old.conn.replaced != nil {
		d.engine.Go(old.conn.replaced)
	}
	d.startGraceLocked(old.conn)
	old.conn.moveAllHolds()
	old.conn.endLocked() // requests that are under way there hold nothing
}

// renewOwner makes p, which has a new token, the owner of the connection's registration.
func (d *Dispatcher) renewOwner(c *Connection, p *auth.Principal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	x := c.executor.Load()
	if x == nil {
		return
	}
	mayNot := func(name string) bool { return !p.MaySpeakAs(name) }
	if x.by.AgentID != p.AgentID || d.auth.AllowClaims(p, parley.MethodRegisterExecutor) != nil ||
		slices.ContainsFunc(x.agents, mayNot) {
		d.removeExecutorLocked(x)
		c.executor.Store(nil)
		d.startGraceLocked(c)
		return
	}
	x.by, x.missed = p, true // it may reach more than before
}

// startServing lets x be asked.
func (d *Dispatcher) startServing(x *executor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.executors[x.key] != x {
		return
	}
	for _, name := range x.serves {
		d.serving[name] = append(d.serving[name], x)
	}
	x.missed = true
	d.offerWaitingLocked(x)
}

// removeExecutorLocked removes x from the indexes.
func (d *Dispatcher) removeExecutorLocked(x *executor) {
	if d.executors[x.key] == x {
		delete(d.executors, x.key)
		d.runners.Disconnected(x.key)
		d.presence.Changed()
	}
	for _, name := range x.serves {
		d.serving[name] = slices.DeleteFunc(d.serving[name], func(o *executor) bool { return o == x })
		if len(d.serving[name]) == 0 {
			delete(d.serving, name)
		}
	}
}

// maxOffered bounds the turns that one executor is offered at once. So many requests fit into the
// out-buffer of a slow connection.
const maxOffered = 256

// view returns x as a desk sees it.
func (x *executor) view(now desk.Time) desk.Executor {
	if now >= x.pendingUntil {
		x.pendingUntil = now + desk.Time(parley.MaxClaimWindowMs)
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

// RunnersByAgent returns, for each agent of an executor, the participant that registered one of its
// executors; empty for the hub's process.
func (d *Dispatcher) RunnersByAgent() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make(map[string]string, len(d.serving))
	for name, all := range d.serving {
		if !parley.ValidParticipantID(name) {
			continue // the key of an executor
		}
		out[name] = all[0].by.AgentID
		if all[0].conn.internal {
			out[name] = ""
		}
	}
	d.presence.EachExecutor(func(x *cluster.Executor) {
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
func (d *Dispatcher) OwnersByAgent() map[string][]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make(map[string][]string, len(d.executors))
	for _, x := range d.executors { // also one that was registered a moment ago and is not asked yet
		for _, name := range x.agents {
			out[name] = append(out[name], x.by.AgentID)
		}
	}
	d.presence.EachExecutor(func(x *cluster.Executor) {
		for _, name := range x.Agents {
			out[name] = append(out[name], x.By)
		}
	})
	return out
}

// IsOnline reports whether an executor for a seat is registered at any hub of the journal.
func (d *Dispatcher) IsOnline(s *fold.State, i int) bool {
	seat, serves := s.Participants[i], s.ServedBy(i)
	d.mu.Lock()
	here := slices.ContainsFunc(d.serving[serves], func(x *executor) bool {
		// A pull executor, which is not asked, looks for turns of its owner's seat only.
		return fold.InPlace(seat.Executor, x.conn.internal) && (x.push || x.by.AgentID == seat.ID)
	})
	d.mu.Unlock()
	return here || d.presence.Serves(serves, func(x *cluster.Executor) bool {
		return fold.InPlace(seat.Executor, x.Internal) && (x.Push || x.By == seat.ID)
	})
}

// HasExecutor reports whether an executor of an agent is registered at any hub of the journal.
func (d *Dispatcher) HasExecutor(agent string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, x := range d.executors { // also one that was registered a moment ago and is not asked yet
		if slices.Contains(x.agents, agent) {
			return true
		}
	}
	return d.presence.Serves(agent, func(*cluster.Executor) bool { return true })
}

// IsConnected reports whether the executor with a key is connected to this hub.
func (d *Dispatcher) IsConnected(key string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.executors[key] != nil
}

// WithConnected calls f with the connected executors locked: none connects or disconnects meanwhile.
func (d *Dispatcher) WithConnected(f func(isConnected func(key string) bool)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(func(key string) bool { return d.executors[key] != nil })
}

// ListExecutors returns the executors that p may see, as many as fit into room bytes, and the number of
// the others.
func (d *Dispatcher) ListExecutors(p *auth.Principal, room int) (list []parley.ExecutorInfo, more int) {
	all := d.executorInfos(p)
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

func (d *Dispatcher) executorInfos(p *auth.Principal) (list []parley.ExecutorInfo) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, x := range d.executors {
		if p.OwnsRegistration(x.by.AgentID) {
			list = append(list, x.info())
		}
	}
	return list
}

// info returns x as listAgents does.
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

// Executors returns the executors that are connected to this hub, for the other hubs.
func (d *Dispatcher) Executors() []cluster.Executor {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]cluster.Executor, 0, len(d.executors))
	for _, x := range d.executors {
		all = append(all, cluster.Executor{
			Key: x.key, By: x.by.AgentID, Agents: x.agents, Push: x.push, Internal: x.conn.internal, Stamp: x.stamp,
		})
	}
	return all
}

// HighestStamp returns the highest stamp of a registration that this hub knows.
func (d *Dispatcher) HighestStamp() int64 { return d.stamps.highest() }

// SeeStamp records a stamp that another hub knows.
func (d *Dispatcher) SeeStamp(stamp int64) { d.stamps.see(stamp) }

// HubReported ends the registrations here that are older than those of the same executors at another hub.
func (d *Dispatcher) HubReported(hubID string, others map[string]*cluster.Executor) {
	if len(others) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, o := range others {
		x := d.executors[key]
		if x == nil || x.conn.internal || o.Internal { // each hub has its executors of this name in its process
			continue
		}
		if isNewer(o, hubID, x, d.presence.ID()) {
			d.engine.Log().Info("an executor has registered at another hub", "executor", x.id, "as", x.by.AgentID)
			d.replaceLocked(x)
		}
	}
}

// isNewer reports whether an executor at another hub was registered after x at this one. Of two
// registrations at the same time every hub selects the same one.
func isNewer(o *cluster.Executor, there string, x *executor, here string) bool {
	if o.Stamp == 0 {
		return false
	}
	return cmp.Or(cmp.Compare(o.Stamp, x.stamp), cmp.Compare(there, here)) > 0
}

// stamps orders the registrations of an executor, also at different hubs: the older one ends. A stamp is
// higher than all stamps that its hub knows, and at least the time in ms. No decision depends on it: if
// two executors with one key exist for a while, the log decides which of them speaks. The zero value is
// ready for use.
type stamps struct {
	mu   sync.Mutex // guards the field below
	last int64      // the highest stamp that is known
}

// next returns the stamp of a new registration.
func (s *stamps) next(now time.Time) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last+1, now.UnixMilli())
	return s.last
}

func (s *stamps) highest() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *stamps) see(stamp int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, stamp)
}
