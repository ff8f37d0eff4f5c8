package turns

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/desk"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/cluster"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

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
		err := d.AwaitRecovery(d.engine.Context())
		if err == nil {
			err = d.engine.CatchUp(d.engine.Context())
		}
		if err == nil {
			err = d.runners.Narrow(p, parley.RunnerRef{RunnerID: x.id, ParticipantID: p.AgentID})
		}
		if err != nil {
			fail(err)
			return
		}
		d.register(x, q.Holding, done)
	})
}

func (d *Dispatcher) newExecutor(p *auth.Principal, q *parley.RegisterExecutorParams) (*executor, error) {
	if err := d.auth.AllowClaims(p, methods.RegisterExecutor); err != nil {
		return nil, err
	}
	conn := ConnectionOf(p)
	if conn == nil {
		return nil, page.Invalid("registerExecutor on a WebSocket", "an executor needs a connection that stays")
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
		key: key, id: q.ExecutorID, stamp: d.nextStamp(), by: p, conn: conn,
		agents: slices.Clone(q.Agents), serves: append(slices.Clone(q.Agents), key),
		labels: maps.Clone(q.Labels), push: q.Mode == parley.ModePush,
		pending: make(map[string]desk.Time), capacity: cmp.Or(q.Capacity, limits.DefaultCapacity),
		graceMs: cmp.Or(q.GraceMs, int64(limits.DefaultGraceMs)),
	}, nil
}

func checkExecutor(q *parley.RegisterExecutorParams) error {
	switch {
	case !parley.ValidParticipantID(q.ExecutorID):
		return page.Invalid("1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit, not hub",
			"executorId %q is not acceptable", policy.Clip(q.ExecutorID))
	case len(q.Agents) > limits.MaxExecutorAgents:
		return page.Invalid(fmt.Sprintf("at most %d", limits.MaxExecutorAgents), "agents: there are %d", len(q.Agents))
	case q.Mode != "" && !q.Mode.Valid():
		return page.Invalid("pull or push", "mode is %q", policy.Clip(string(q.Mode)))
	case q.Capacity != 0 && (q.Capacity < 1 || q.Capacity > limits.MaxCapacity):
		return page.Invalid(fmt.Sprintf("1 to %d", limits.MaxCapacity), "capacity is %d", q.Capacity)
	case q.GraceMs != 0 && (q.GraceMs < limits.MinGraceMs || q.GraceMs > limits.MaxGraceMs):
		return page.Invalid(fmt.Sprintf("%d to %d", limits.MinGraceMs, limits.MaxGraceMs), "graceMs is %d", q.GraceMs)
	case len(q.Holding) > limits.MaxHolding:
		return page.Invalid(fmt.Sprintf("at most %d", limits.MaxHolding), "holding: there are %d", len(q.Holding))
	}
	seen := map[string]bool{}
	for _, name := range q.Agents {
		if !parley.ValidParticipantID(name) || seen[name] {
			return page.Invalid("different names like ids of participants",
				"agents: %q is no name of an agent, or there twice", policy.Clip(name))
		}
		seen[name] = true
	}
	return check.Labels("labels", q.Labels)
}

// register replaces the executor with the key of x by x, and ends the claims that x does not continue.
func (d *Dispatcher) register(x *executor, holding []string, done func(parley.RegisterExecutorResult, error)) {
	hashes := make([]eventdata.ClaimHash, len(holding)) // before the lock
	for i, id := range holding {
		hashes[i] = eventdata.HashClaim(id)
	}
	d.mu.Lock()
	if err := d.admitLocked(x); err != nil {
		d.mu.Unlock()
		done(parley.RegisterExecutorResult{}, err)
		return
	}
	result := parley.RegisterExecutorResult{OK: true, Holding: []string{}}
	kept := make(map[eventdata.ClaimHash]bool, len(holding))
	for i, id := range holding {
		if h := d.claims.moveLocked(hashes[i], id, x); h != nil {
			d.endGraceLocked(h)
			kept[h.hash] = true
			result.Holding = append(result.Holding, id)
		}
	}
	over := d.claims.abandonedLocked(x, kept)
	d.mu.Unlock()
	endAbandoned(d.engine, over, func(ended int) {
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
	old := d.executors.byKey[x.key]
	switch {
	case old == nil:
	case old.stamp > x.stamp: // x waited longer, for the log or the claims, than a newer registration
		if old.conn != x.conn && x.conn.replaced != nil {
			d.engine.Go(x.conn.replaced)
		}
		return errOvertaken
	case old.conn == x.conn:
		d.executors.removeLocked(old)
		x.pending, x.stamp = old.pending, old.stamp // it is not a newer one
	default:
		d.replaceLocked(old)
	}
	d.executors.putLocked(x)
	x.conn.executor.Store(x)
	d.claims.countLocked(x.conn)
	return nil
}

// replaceLocked ends the registration and the connection of an executor, because another connection
// registered as the same executor.
func (d *Dispatcher) replaceLocked(old *executor) {
	d.executors.removeLocked(old)
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
	if x.by.AgentID != p.AgentID || d.auth.AllowClaims(p, methods.RegisterExecutor) != nil ||
		slices.ContainsFunc(x.agents, mayNot) {
		d.executors.removeLocked(x)
		c.executor.Store(nil)
		d.startGraceLocked(c)
		return
	}
	x.by, x.missed = p, true // it may reach more than before
}

func (d *Dispatcher) startServing(x *executor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.executors.serveLocked(x) {
		d.offerWaitingLocked(x)
	}
}

// HubReported ends the registrations here that are older than those of the same executors at another hub.
func (d *Dispatcher) HubReported(hubID string, others map[string]*cluster.Executor) {
	if len(others) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, x := range d.executors.olderLocked(hubID, others) {
		d.engine.Log().Info("an executor has registered at another hub", "executor", x.id, "as", x.by.AgentID)
		d.replaceLocked(x)
	}
}

func (d *Dispatcher) disconnect(c *Connection) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if x := c.executor.Load(); x != nil {
		d.executors.removeLocked(x)
	}
	c.endLocked()
	d.startGraceLocked(c)
}

// startGraceLocked starts the grace period of the claims that a connection holds.
func (d *Dispatcher) startGraceLocked(c *Connection) {
	for _, h := range d.claims.loseLocked(c) {
		if t := d.records.turns[h.conversation]; t != nil {
			t.Lost(deskNow(d.engine), h.hash)
			d.stepLocked(t, true)
		}
	}
}

// endAbandoned ends claims that their executor does not continue after a new registration. It calls done,
// once, with their number.
func endAbandoned(e *conv.Engine, all []*heldClaim, done func(int)) {
	var left atomic.Int64
	left.Store(int64(len(all)) + 1)
	countOne := func() {
		if left.Add(-1) == 0 {
			done(len(all))
		}
	}
	for _, h := range all {
		c, err := e.Pin(h.conversation)
		if err != nil {
			countOne()
			continue
		}
		end := &fold.EndClaim{Reason: parley.ClaimDisconnected}
		cmd := fold.Command{Do: end, From: parley.HubID, Named: &h.hash}
		c.Do(&conv.Request{Cmd: cmd, Reply: func(*fold.Decision, error) { countOne() }})
	}
	countOne()
}
