package hub

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/cluster"
	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/desk"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/policy"
)

// executor is a connection that runs agents. It does not change but for load; a registration that replaces it is another one.
type executor struct {
	key, id  string
	by       *auth.Principal
	conn     *Connection
	agents   []string
	serves   []string // agents and the key: what it can be asked for; see fold.ServedBy
	labels   map[string]string
	push     bool
	capacity int
	graceMs  int64
	stamp    int64 // orders the registrations; see rivals.go

	load    int                  // claims that its connection holds; guarded by turns.mu, as are the next
	missed  bool                 // something may wait that it was not asked for
	pending map[string]desk.Time // conversations whose turn it was just asked to take, and until when that counts
	tires   desk.Time            // when the first of pending counts no more, or before
}

// executorKey tells the executors of all callers apart: each has its own ids.
func executorKey(p *auth.Principal, id string) string { return fold.ExecutorKey(p.AgentID, id) }

// RegisterExecutor makes p's connection an executor. It waits until the hub knows all claims that stand.
func (h *Hub) RegisterExecutor(p *auth.Principal, q *parley.RegisterExecutorParams, done func(parley.RegisterExecutorResult, error)) {
	x, err := h.newExecutor(p, q)
	if err != nil {
		done(parley.RegisterExecutorResult{}, err)
		return
	}
	if err := h.conv.Begin(); err != nil {
		done(parley.RegisterExecutorResult{}, err)
		return
	}
	h.conv.Go(func() {
		defer h.conv.End()
		select {
		case <-h.turns.recovered:
		case <-h.conv.Draining():
			done(parley.RegisterExecutorResult{}, conv.ErrDraining)
			return
		}
		if err := h.conv.CatchUp(h.conv.Context()); err != nil {
			done(parley.RegisterExecutorResult{}, err)
			return
		}
		if err := h.runners.narrow(p, parley.RunnerRef{RunnerID: x.id, ParticipantID: p.AgentID}); err != nil {
			done(parley.RegisterExecutorResult{}, err)
			return
		}
		h.turns.register(x, q.Holding, done)
	})
}

func (h *Hub) newExecutor(p *auth.Principal, q *parley.RegisterExecutorParams) (*executor, error) {
	if err := h.auth.AllowClaims(p, parley.MethodRegisterExecutor); err != nil {
		return nil, err
	}
	if connectionOf(p) == nil {
		return nil, parley.Refuse(parley.ErrValidationFailed, "an executor needs a connection that stays", "registerExecutor on a WebSocket")
	}
	if err := checkExecutor(q); err != nil {
		return nil, err
	}
	for _, name := range q.Agents {
		if !p.MaySpeakAs(name) {
			return nil, parley.Refuse(parley.ErrForbidden, "the token does not speak as "+name, "agents of the token")
		}
	}
	key := executorKey(p, q.ExecutorID)
	return &executor{
		key: key, id: q.ExecutorID, stamp: h.turns.stamps.next(h.Now()), by: p, conn: connectionOf(p), agents: slices.Clone(q.Agents), serves: append(slices.Clone(q.Agents), key),
		labels: maps.Clone(q.Labels), push: q.Mode == parley.ModePush,
		pending: make(map[string]desk.Time), capacity: cmp.Or(q.Capacity, parley.DefaultCapacity), graceMs: cmp.Or(q.GraceMs, int64(parley.DefaultGraceMs)),
	}, nil
}

func checkExecutor(q *parley.RegisterExecutorParams) error {
	switch {
	case !parley.ValidParticipantID(q.ExecutorID):
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("executorId %q is not acceptable", policy.Clip(q.ExecutorID)), "1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit, not hub")
	case len(q.Agents) > parley.MaxExecutorAgents:
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("agents: there are %d", len(q.Agents)), fmt.Sprintf("at most %d", parley.MaxExecutorAgents))
	case q.Mode != "" && !q.Mode.Valid():
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("mode is %q", policy.Clip(string(q.Mode))), "pull or push")
	case q.Capacity != 0 && (q.Capacity < 1 || q.Capacity > parley.MaxCapacity):
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("capacity is %d", q.Capacity), fmt.Sprintf("1 to %d", parley.MaxCapacity))
	case q.GraceMs != 0 && (q.GraceMs < parley.MinGraceMs || q.GraceMs > parley.MaxGraceMs):
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("graceMs is %d", q.GraceMs), fmt.Sprintf("%d to %d", parley.MinGraceMs, parley.MaxGraceMs))
	case len(q.Holding) > parley.MaxHolding:
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("holding: there are %d", len(q.Holding)), fmt.Sprintf("at most %d", parley.MaxHolding))
	}
	seen := map[string]bool{}
	for _, name := range q.Agents {
		if !parley.ValidParticipantID(name) || seen[name] {
			return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("agents: %q is no name of an agent, or there twice", policy.Clip(name)), "different names like ids of participants")
		}
		seen[name] = true
	}
	return fold.CheckLabels("labels", q.Labels)
}

// register puts x in the place of what was registered under its id, and ends the claims of that which x does not go on with.
func (t *turns) register(x *executor, holding []string, done func(parley.RegisterExecutorResult, error)) {
	hashes := make([]fold.ClaimHash, len(holding)) // before the lock
	for i, id := range holding {
		hashes[i] = fold.HashClaim(id)
	}
	t.mu.Lock()
	if err := t.admitLocked(x); err != nil {
		t.mu.Unlock()
		done(parley.RegisterExecutorResult{}, err)
		return
	}
	result := parley.RegisterExecutorResult{OK: true, Holding: []string{}}
	going := make(map[fold.ClaimHash]bool, len(holding))
	for i, id := range holding {
		if h := hashes[i]; t.moveLocked(h, id, x) {
			going[h] = true
			result.Holding = append(result.Holding, id)
		}
	}
	var over []endOf
	for h, held := range t.holdings {
		if held.mayBe(x) && held.conn != x.conn && !going[h] {
			over = append(over, endOf{held, h})
		}
	}
	t.mu.Unlock()
	t.endAll(over, func(ended int) {
		result.Ended = ended
		done(result, nil)
		t.serve(x)
	})
}

// errTakenSince is told to a registration that another one has overtaken.
var errTakenSince = parley.Refuse(parley.ErrAlreadyExists, "another connection has registered as this executor since", "an executorId of its own for each process")

// admitLocked makes x the executor of its connection.
func (t *turns) admitLocked(x *executor) error {
	if now := x.conn.executor.Load(); now != nil && now.key != x.key {
		return parley.Refuse(parley.ErrAlreadyExists, "the connection is registered as the executor "+now.id, "executorId "+now.id+", or another connection")
	}
	if x.conn.closed {
		return parley.Refuse(parley.ErrUnavailable, "the connection has ended", "")
	}
	old := t.executors[x.key]
	switch {
	case old == nil:
	case old.stamp > x.stamp: // x has waited longer, for the log or for what stands, than one that came behind it
		if old.conn != x.conn && x.conn.replaced != nil {
			t.hub.conv.Go(x.conn.replaced)
		}
		return errTakenSince
	case old.conn == x.conn:
		t.removeLocked(old)
		x.pending, x.stamp = old.pending, old.stamp // it is not a newer one
	default:
		t.replaceLocked(old)
	}
	t.executors[x.key] = x
	t.hub.runners.came(x.key)
	t.hub.presence.Changed()
	x.conn.executor.Store(x)
	for _, h := range t.holdings {
		if h.conn == x.conn {
			t.assignLocked(h, x.conn)
		}
	}
	return nil
}

// replaceLocked ends the registration of an executor, and its connection, because another connection is that executor now.
func (t *turns) replaceLocked(old *executor) {
	t.removeLocked(old)
	if old.conn.replaced != nil {
		t.hub.conv.Go(old.conn.replaced)
	}
	t.loseLocked(old.conn)
	old.conn.movedAll()
	old.conn.endLocked() // what is still under way there holds nothing
}

// renew makes p, who has shown a fresh token, the one who has registered.
func (t *turns) renew(c *Connection, p *auth.Principal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := c.executor.Load()
	if x == nil {
		return
	}
	strange := func(name string) bool { return !p.MaySpeakAs(name) }
	if x.by.AgentID != p.AgentID || t.hub.auth.AllowClaims(p, parley.MethodRegisterExecutor) != nil || slices.ContainsFunc(x.agents, strange) {
		t.removeLocked(x)
		c.executor.Store(nil)
		t.loseLocked(c)
		return
	}
	x.by, x.missed = p, true // it may reach more than before
}

// serve lets x be asked from now on.
func (t *turns) serve(x *executor) {
	t.mu.Lock()
	if t.executors[x.key] != x {
		t.mu.Unlock()
		return
	}
	for _, name := range x.serves {
		t.serving[name] = append(t.serving[name], x)
	}
	x.missed = true
	t.feedLocked(x)
	t.mu.Unlock()
}

// removeLocked takes x out of all that refers to it.
func (t *turns) removeLocked(x *executor) {
	if t.executors[x.key] == x {
		delete(t.executors, x.key)
		t.hub.runners.left(x.key)
		t.hub.presence.Changed()
	}
	for _, name := range x.serves {
		t.serving[name] = slices.DeleteFunc(t.serving[name], func(o *executor) bool { return o == x })
		if len(t.serving[name]) == 0 {
			delete(t.serving, name)
		}
	}
}

// reaches reports whether x may be asked for a turn of a conversation.
func (x *executor) reaches(h *Hub, conversation string) bool {
	return x.by.Reaches(conversation) && h.Valid(x.by) == nil
}

// maxOffered bounds the turns that one executor is asked to take at once: so many requests fit into the out-buffer of a connection that is slow.
const maxOffered = 256

// view is x as a desk sees it.
func (x *executor) view(now desk.Time) desk.Executor {
	if now >= x.tires {
		x.tires = now + desk.Time(parley.MaxClaimWindowMs)
		maps.DeleteFunc(x.pending, func(_ string, until desk.Time) bool {
			if until > now {
				x.tires = min(x.tires, until)
			}
			return until <= now
		})
	}
	load := x.load + len(x.pending)
	full := load >= x.capacity || len(x.pending) >= maxOffered
	x.missed = x.missed || full
	return desk.Executor{Key: x.key, ID: x.id, Internal: x.conn.internal, Holds: x.load, Load: load, Full: full}
}

// runners gives, for each agent that is run by executors, who has registered one of them; empty for the hub's own process.
func (t *turns) runners() map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[string]string, len(t.serving))
	for name, all := range t.serving {
		if !parley.ValidParticipantID(name) {
			continue // the key of an executor
		}
		out[name] = all[0].by.AgentID
		if all[0].conn.internal {
			out[name] = ""
		}
	}
	t.hub.presence.EachExecutor(func(x *cluster.Executor) {
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

// served gives, for each agent that is run by executors, who has registered them.
func (t *turns) served() map[string][]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[string][]string, len(t.executors))
	for _, x := range t.executors { // also one that was registered a moment ago, and is asked nothing yet
		for _, name := range x.agents {
			out[name] = append(out[name], x.by.AgentID)
		}
	}
	t.hub.presence.EachExecutor(func(x *cluster.Executor) {
		for _, name := range x.Agents {
			out[name] = append(out[name], x.By)
		}
	})
	return out
}

// online reports whether an executor is registered, at any hub of the journal, that a seat of s would take.
func (t *turns) online(s *fold.State, i int) bool {
	seat, serves := s.Participants[i], s.ServedBy(i)
	t.mu.Lock()
	here := slices.ContainsFunc(t.serving[serves], func(x *executor) bool {
		return fold.InPlace(seat.Executor, x.conn.internal) && (x.push || x.by.AgentID == seat.ID) // one that is asked nothing looks at its own seat
	})
	t.mu.Unlock()
	return here || t.hub.presence.Serves(serves, func(x *cluster.Executor) bool {
		return fold.InPlace(seat.Executor, x.Internal) && (x.Push || x.By == seat.ID)
	})
}

// serves reports whether an executor of an agent is registered.
func (t *turns) serves(agent string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.executors { // also one that was registered a moment ago, and is asked nothing yet
		if slices.Contains(x.agents, agent) {
			return true
		}
	}
	return t.hub.presence.Serves(agent, func(*cluster.Executor) bool { return true })
}
