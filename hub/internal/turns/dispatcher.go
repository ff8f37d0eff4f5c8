// Package turns dispatches the turns of agents. A [Dispatcher] observes every commit, offers turns to
// executors, tracks the holder of each claim, and ends what is overdue. It does not write to the log
// itself: it issues commands, as callers do. All of its state is in memory and is rebuilt from the logs
// after a restart.
//
// The rules are in package desk, which is pure. A Dispatcher adds the executors, their connections and
// time.
//
// # Types
//
//	| type | owns |
//	|---|---|
//	| records | the turns that are claimed or offered, each with a desk, and the open conversations |
//	| queues | the conversations that wait for an executor, by demand |
//	| executors | the connected executors, their load and the offers that they have |
//	| claims | the current claims and their holders |
//	| Connection | the claims that were taken on one connection |
//	| recovery | the load of all open conversations after a start |
//	| spans | the spans of turns |
//
// A Dispatcher passes what one of them changes to the others.
//
// # Goroutines
//
//	| goroutine | started by | does |
//	|---|---|---|
//	| Recover | the hub | loads every open conversation once |
//	| Run | the hub | steps the desks whose time is due |
//	| a registration | RegisterExecutor | waits until all claims are known |
//
// # Locks
//
// Dispatcher.mu guards records, queues, executors and claims together, because one commit changes all of
// them. It is taken after the mutex of a conversation, never before it. Connection.mu is taken after
// Dispatcher.mu. The notify functions of connections and [Runners] are called with Dispatcher.mu held,
// so they must not block.
package turns

import (
	"maps"
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
	recovery
	spans
	engine *conv.Engine
	auth   *auth.Service
	opts   Options
	alarm  *conv.Clock

	mu sync.Mutex // guards the fields below, and what they point to
	*records
	*executors
	*claims
	waiting queues
	counts  counts
}

// counts of turns and claims; guarded by Dispatcher.mu.
type counts struct {
	offers, taken int64
	ended         map[parley.ClaimEnd]int64
	turns, waits  *conv.Histogram
}

// durationBounds are the upper bounds of the buckets, in ms.
var durationBounds = []float64{
	5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 600_000, 3_600_000,
}

// New returns a Dispatcher. Call Connect before any other method.
func New(o Options) *Dispatcher {
	d := &Dispatcher{engine: o.Engine, auth: o.Auth, opts: o, spans: spans{o.Tracer}, waiting: make(queues)}
	d.records = newRecords(&d.mu, o.Engine)
	d.executors = newExecutors(&d.mu, o.Engine)
	d.claims = newClaims(&d.mu, o.Auth)
	d.recovery = recovery{engine: o.Engine, done: make(chan struct{}), claims: d.claims, run: d.run}
	d.alarm = conv.NewClock(o.Engine, d.fire)
	d.counts = counts{
		ended: make(map[parley.ClaimEnd]int64),
		turns: conv.NewHistogram(durationBounds), waits: conv.NewHistogram(durationBounds),
	}
	return d
}

// Connect connects the Dispatcher to other parts of the hub.
func (d *Dispatcher) Connect(presence *cluster.Presence, sessions Sessions, runners Runners) {
	d.executors.presence, d.executors.runners, d.recovery.sessions = presence, runners, sessions
}

// Run steps the desks whose time is due until the hub ends.
func (d *Dispatcher) Run() { d.alarm.Run() }

// Wake steps the desk of a conversation soon.
func (d *Dispatcher) Wake(conversation string, at parley.Timestamp) { d.alarm.Set(conversation, at) }

func deskNow(e *conv.Engine) desk.Time { return desk.Time(e.Now().UnixMilli()) }

// Committed implements conv.Observer: it updates the desk of the conversation.
func (d *Dispatcher) Committed(c conv.Commit) {
	if !c.NeedsWork() {
		return
	}
	s, foreign := c.State, c.Foreign(d.engine.Shared())
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.records.recordLocked(s)
	if t == nil {
		return
	}
	now := deskNow(d.engine)
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
	var freed []*executor
	if had && (!has || isNew) {
		if x := d.endClaimLocked(before, s, foreign); x != nil {
			freed = append(freed, x)
		}
	}
	if has || s.CurrentTurn() != t.number || s.Closed() {
		freed = append(freed, t.withdraw()...)
	}
	t.updateTrace(s, d.spans)
	if isNew {
		switch h := d.claims.recordLocked(s); {
		case h.conn != nil:
			t.Found(h.hash)
		case !d.engine.Shared(): // else another hub may have the holder
			t.Lost(now, h.hash)
		}
	}
	if x := d.claims.updateWaitLocked(s); x != nil {
		freed = append(freed, x)
	}
	// A claim from before the start is not counted, and that of another hub is counted there.
	if isNew && !foreign && after.At >= parley.TimestampOf(d.opts.StartedAt) {
		d.counts.taken++
		if measured {
			d.counts.waits.Observe(1, time.Duration(waited)*time.Millisecond)
		}
	}
	d.waiting.move(t.id, &t.place, t.demands(s.FloorSince))
	d.stepLocked(t, true)
	if t.Idle() {
		delete(d.records.turns, t.id)
	}
	for _, x := range freed {
		d.offerWaitingLocked(x)
	}
}

// endClaimLocked removes a claim that is over, and returns the executor that held it, or nil. The hub
// that ended it counts it.
func (d *Dispatcher) endClaimLocked(c fold.Claim, s *fold.State, foreign bool) *executor {
	reason := parley.ClaimTurnEnded
	if s.Ended != nil && s.Ended.Hash == c.Hash {
		reason = s.Ended.Reason
	}
	if !foreign {
		d.counts.ended[reason]++
	}
	if reason == parley.ClaimFinal && !foreign {
		d.counts.turns.Observe(1, time.Duration(s.LastAt-c.At)*time.Millisecond)
	}
	return d.claims.endLocked(c, s, reason)
}

// fire steps a desk whose time is due.
func (d *Dispatcher) fire(id string) {
	d.mu.Lock()
	t, now := d.records.turns[id], deskNow(d.engine)
	if t == nil {
		d.mu.Unlock()
		return
	}
	if t.retryAt > now { // a reload of the conversation has set the alarm to now
		d.alarm.Set(id, parley.Timestamp(t.retryAt))
		d.mu.Unlock()
		return
	}
	for _, x := range t.expire(now) {
		d.offerWaitingLocked(x)
	}
	commands := d.stepLocked(t, false)
	if d.engine.Shared() && t.yield(commands, now, d.presence.Patience(id)) {
		d.alarm.Set(id, parley.Timestamp(t.retryAt))
		commands = nil
	}
	d.mu.Unlock()
	for _, cmd := range commands {
		d.run(id, cmd)
	}
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
	if t, now := d.records.turns[id], deskNow(d.engine); t != nil {
		t.Again()
		t.retryAt = now + desk.Time(min(ms, conv.RetryWrite.Milliseconds()))
		d.alarm.Set(id, parley.Timestamp(now)+parley.Timestamp(ms))
	}
}

// offerWaitingLocked offers x the waiting turns, the longest first, while it has room. If x was
// replaced, its successor gets the offers. An executor that always had room has missed none, and then
// the queues are not read.
func (d *Dispatcher) offerWaitingLocked(x *executor) {
	now := deskNow(d.engine)
	if x = d.executors.withRoomLocked(x, now); x == nil {
		return
	}
	x.missed = false
	for name, id := range d.waiting.waitingFor(x.serves, x.conn.internal) {
		t := d.records.turns[id]
		if !x.by.Reaches(id) || !t.Due(now, name, x.conn.internal) {
			continue
		}
		if x.view(now).Full {
			return
		}
		d.stepLocked(t, true)
	}
}

// stepLocked lets a desk offer its turn, and sets its alarm. It returns the commands that are due; with
// later set, they stay due.
func (d *Dispatcher) stepLocked(t *turn, later bool) []fold.Command {
	now := deskNow(d.engine)
	todo := t.Step(desk.World{
		Now: now, Later: later, Shared: d.engine.Shared(),
		Executors: func(a *fold.Ask) []desk.Executor {
			if !d.sessions.MayRun(t.id) {
				return nil // it is stepped again when its parent knows of it
			}
			return d.executors.candidatesLocked(t.id, a.Serves, a.Demands, now)
		},
		Mint: func(turn int64) (string, eventdata.ClaimHash) {
			claim := eventdata.ClaimID(turn, d.opts.NewID(""))
			return claim, eventdata.HashClaim(claim)
		},
	})
	for _, r := range todo.Requests {
		d.requestLocked(t, &r, now)
	}
	if todo.At != 0 {
		d.alarm.Set(t.id, parley.Timestamp(todo.At))
	}
	return todo.Commands
}

func (d *Dispatcher) requestLocked(t *turn, r *desk.Request, now desk.Time) {
	x := d.executors.byKey[r.Executor]
	if x == nil || x.conn.notify == nil {
		return
	}
	d.counts.offers++
	until := now + desk.Time(t.WindowMs())
	x.offer(t.id, until)
	d.alarm.Set(t.id, parley.Timestamp(until)) // then it may have room for another
	t.asked = append(t.asked, x)
	x.conn.notify(parley.ExecutorNotification{RequestTurn: &parley.RequestTurn{
		ConversationID: t.id, AgentID: r.AgentID, Agent: r.Agent, Turn: r.Turn, ClaimID: r.ClaimID, Attempt: r.Attempts + 1,
		SinceSeq: r.SinceSeq, DeadlineMs: int64(now) + t.DurationMs(), ClaimWindowMs: t.WindowMs(), Traceparent: t.trace,
	}})
}

// AddStats sets the fields of s that the Dispatcher counts.
func (d *Dispatcher) AddStats(s *parley.Stats) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := &d.counts
	s.Turns, s.ClaimWaits, s.Offers, s.ClaimsTaken = n.turns.Durations(), n.waits.Durations(), n.offers, n.taken
	s.ClaimsEnded = maps.Clone(n.ended)
	s.Executors, s.Claims, s.ConversationsOpen = int64(len(d.byKey)), int64(len(d.held)), int64(len(d.open))
}
