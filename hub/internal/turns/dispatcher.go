package turns

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/desk"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/cluster"
	"github.com/parleyhub/parley/hub/internal/conv"
)

// Options of a Dispatcher.
type Options struct {
	Engine *conv.Engine
	Auth   *auth.Service
	// Tracer gets a span for each claimed turn; nil: none.
	Tracer parley.Tracer
	// NewID makes the random part of the id of a claim.
	NewID func(prefix string) string
	// StartedAt is when the hub started, in hub time.
	StartedAt time.Time
}

// Sessions is what a Dispatcher uses of the agent sessions.
type Sessions interface {
	// MayRun reports whether executors may get a conversation.
	MayRun(conversation string) bool
	// FinishRecovery is called when every open conversation was loaded once after a start.
	FinishRecovery()
}

// Runners is what a Dispatcher uses of the runners. Connected and Disconnected are called with the
// mutex of the Dispatcher held.
type Runners interface {
	Connected(executorKey string)
	Disconnected(executorKey string)
	// Narrow adapts the record of a runner to the rights of p. It may wait for a commit.
	Narrow(p *auth.Principal, ref parley.RunnerRef) error
}

// Dispatcher offers the turns of agents to executors.
type Dispatcher struct {
	engine    *conv.Engine
	auth      *auth.Service
	opts      Options
	presence  *cluster.Presence // nil if no other hub serves the journal
	sessions  Sessions
	runners   Runners
	alarm     *conv.Clock
	recovered chan struct{} // closed when every open conversation was loaded once
	stamps    stamps

	mu        sync.Mutex // guards the fields below
	turns     map[string]*turn
	open      map[string]struct{}
	executors map[string]*executor   // by key
	serving   map[string][]*executor // by the name of an agent
	waiting   map[demand][]waiter    // the longest first
	claims    map[eventdata.ClaimHash]*heldClaim
	counts    counts
}

// turn is the current turn of a conversation.
type turn struct {
	desk.Desk
	number  int64
	demands []demand         // in whose queues it waits
	since   parley.Timestamp // its key there
	asked   []*executor
	trace   string    // the traceparent for the executor
	answers string    // the traceparent of what the turn answers
	retryAt desk.Time // no command of the hub is tried before
	yielded bool      // another hub was let act first
}

// New returns a Dispatcher. Call Connect before any other method.
func New(o Options) *Dispatcher {
	d := &Dispatcher{
		engine: o.Engine, auth: o.Auth, opts: o, recovered: make(chan struct{}),
		turns: make(map[string]*turn), open: make(map[string]struct{}), executors: make(map[string]*executor),
		serving: make(map[string][]*executor), waiting: make(map[demand][]waiter),
		claims: make(map[eventdata.ClaimHash]*heldClaim),
	}
	d.alarm = conv.NewClock(o.Engine, d.fire)
	d.counts.ended = make(map[parley.ClaimEnd]int64)
	return d
}

// Connect connects the Dispatcher to other parts of the hub. presence is nil for the only hub of a
// journal.
func (d *Dispatcher) Connect(presence *cluster.Presence, sessions Sessions, runners Runners) {
	d.presence, d.sessions, d.runners = presence, sessions, runners
}

// Run steps the desks whose time is due until the hub ends.
func (d *Dispatcher) Run() { d.alarm.Run() }

// Wake steps the desk of a conversation soon.
func (d *Dispatcher) Wake(conversation string, at parley.Timestamp) { d.alarm.Set(conversation, at) }

func (d *Dispatcher) now() desk.Time { return desk.Time(d.engine.Now().UnixMilli()) }

// Committed implements conv.Observer: it updates the desk of the conversation.
func (d *Dispatcher) Committed(c conv.Commit) {
	if !c.NeedsWork() {
		return
	}
	id, s, foreign := c.ID, c.State, c.Foreign(d.engine.Shared())
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.Closed() {
		delete(d.open, id)
	} else {
		d.open[id] = struct{}{}
	}
	t := d.turns[id]
	if t == nil {
		if s.Claim == nil && len(s.Asks()) == 0 {
			return
		}
		t = &turn{}
		d.turns[id] = t
	}
	if s.Seq < t.Seq() {
		return // a later state came first
	}
	now := d.now()
	before, had := t.Claim()
	waited, measured := int64(0), false
	if s.Claim != nil {
		waited, measured = t.WaitedMs(now, s.Claim.AgentID)
	}
	t.Saw(now, s)
	after, has := t.Claim()
	isNew := has && (!had || before.Hash != after.Hash)
	if isNew && d.engine.Shared() && !d.Recovered() {
		t.Guessed()
	}
	freed := d.updateClaimLocked(id, t, s, change{before, had, after, has, foreign})
	if x := d.updateWaitLocked(s); x != nil {
		freed = append(freed, x)
	}
	// A claim from before the start is not counted, and that of another hub is counted there.
	if isNew && !foreign && after.At >= parley.TimestampOf(d.opts.StartedAt) {
		d.counts.taken++
		if measured {
			d.counts.waits.observe(waited)
		}
	}
	d.updateQueuesLocked(id, t, s.FloorSince)
	d.stepLocked(id, t, true)
	if t.Idle() {
		delete(d.turns, id)
	}
	for _, x := range freed {
		d.offerWaitingLocked(x)
	}
}

// change is the claim of a conversation before and after a commit.
type change struct {
	before  fold.Claim
	had     bool
	after   fold.Claim
	has     bool
	foreign bool // another hub committed it
}

func (c *change) isSame() bool { return c.had && c.has && c.before.Hash == c.after.Hash }

// updateClaimLocked updates the claims, and notifies the holder of one that ended. It returns the
// executors that have room now.
func (d *Dispatcher) updateClaimLocked(id string, t *turn, s *fold.State, c change) (freed []*executor) {
	if c.had && !c.isSame() {
		if x := d.endClaimLocked(id, c.before, s, c.foreign); x != nil {
			freed = append(freed, x)
		}
	}
	if c.has || s.CurrentTurn() != t.number || s.Closed() {
		for _, x := range t.asked {
			delete(x.pending, id)
			freed = append(freed, x)
		}
		t.asked = nil
	}
	d.updateTraceLocked(t, s)
	if !c.has || c.isSame() {
		return freed
	}
	h := d.claims[c.after.Hash]
	if h == nil {
		h = &heldClaim{conversation: id, agentID: c.after.AgentID, turn: c.after.Turn, executorID: c.after.ExecutorID}
		d.claims[c.after.Hash] = h
	}
	if seat := s.Seat(c.after.AgentID); seat >= 0 {
		h.serves, h.seats = s.ServedBy(seat), s.Participants
	}
	d.assignLocked(h, h.conn)
	switch {
	case h.conn != nil:
		t.Found(c.after.Hash)
	case !d.engine.Shared(): // else another hub may have the holder
		t.Lost(d.now(), c.after.Hash)
	}
	return freed
}

// fire steps a desk whose time is due.
func (d *Dispatcher) fire(id string) {
	d.mu.Lock()
	t := d.turns[id]
	if t == nil {
		d.mu.Unlock()
		return
	}
	if t.retryAt > d.now() { // a reload of the conversation has set the alarm to now
		d.alarm.Set(id, parley.Timestamp(t.retryAt))
		d.mu.Unlock()
		return
	}
	d.expireOffersLocked(id, t)
	commands := d.stepLocked(id, t, false)
	if d.yieldLocked(id, t, commands) {
		commands = nil
	}
	d.mu.Unlock()
	for _, cmd := range commands {
		d.run(id, cmd)
	}
}

// yieldLocked lets another hub act first on what every hub finds due, once. The loss or return of a
// holder is known to one hub only and not delayed.
func (d *Dispatcher) yieldLocked(id string, t *turn, commands []fold.Command) bool {
	if !d.engine.Shared() {
		return false
	}
	wait := d.presence.Patience(id)
	isRenewal := func(c fold.Command) bool {
		_, ok := c.Do.(*fold.Renew)
		return ok
	}
	if wait == 0 || len(commands) == 0 || t.yielded || slices.ContainsFunc(commands, isRenewal) {
		t.yielded = false
		return false
	}
	t.yielded = true
	t.Again()
	t.retryAt = d.now() + desk.Time(wait.Milliseconds())
	d.alarm.Set(id, parley.Timestamp(t.retryAt))
	return true
}

// run decides a command of the hub. If it cannot be written, it is tried again.
func (d *Dispatcher) run(id string, cmd fold.Command) {
	c, err := d.engine.Pin(id)
	if err != nil {
		d.retry(id, conv.RetryRead.Milliseconds())
		return
	}
	c.Do(&conv.Request{Cmd: cmd, Reply: func(_ *fold.Decision, err error) {
		if err != nil && d.engine.Err() == nil {
			d.retry(id, conv.RetryWrite.Milliseconds())
		}
	}})
}

func (d *Dispatcher) retry(id string, ms int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.turns[id]; t != nil {
		t.Again()
		t.retryAt = d.now() + desk.Time(min(ms, conv.RetryWrite.Milliseconds()))
		d.alarm.Set(id, parley.Timestamp(d.now())+parley.Timestamp(ms))
	}
}

// Recovered reports whether every open conversation was loaded once after the start.
func (d *Dispatcher) Recovered() bool {
	select {
	case <-d.recovered:
		return true
	default:
		return false
	}
}

// WhenRecovered is closed when Recovered is true.
func (d *Dispatcher) WhenRecovered() <-chan struct{} { return d.recovered }

// AwaitRecovery waits until Recovered is true. It fails when ctx ends or the hub drains.
func (d *Dispatcher) AwaitRecovery(ctx context.Context) error {
	select {
	case <-d.recovered:
		return nil
	case <-d.engine.Draining():
		return conv.ErrDraining
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Recover loads every open conversation once, so that all observers know it. It reads no closed one.
func (d *Dispatcher) Recover() {
	defer close(d.recovered)
	var after string
	for d.engine.Context().Err() == nil {
		open, err := d.engine.Journal().Open(after, 1000)
		if err != nil {
			d.engine.Log().Error("cannot list open conversations: their turns and time limits wait until they are used",
				"error", err)
			return
		}
		if len(open) == 0 {
			d.sessions.FinishRecovery()
			return
		}
		for _, id := range open {
			d.recoverOne(id)
		}
		after = open[len(open)-1]
	}
}

// recoverOne loads an open conversation, once or again, before a caller names its claim.
func (d *Dispatcher) recoverOne(id string) {
	c, err := d.engine.Pin(id)
	if err != nil {
		return // the load has logged it, or the hub stops
	}
	defer d.engine.Unpin(c)
	var orphan *eventdata.ClaimHash
	c.ShowAtStart(func(s *fold.State) {
		if s.Claim != nil && s.Claim.Internal && !d.isNamed(s.Claim.Hash) { // else this process took it
			orphan = &s.Claim.Hash
		}
	})
	if orphan != nil && !d.engine.Shared() { // its executor was part of the process before
		end := &fold.EndClaim{Reason: parley.ClaimRestarted}
		d.run(id, fold.Command{Do: end, From: parley.HubID, Named: orphan})
	}
}

// isNamed reports whether a claim was taken or named since the start.
func (d *Dispatcher) isNamed(hash eventdata.ClaimHash) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.claims[hash]
	return h != nil && h.id != ""
}
