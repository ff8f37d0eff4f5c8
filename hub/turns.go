package hub

import (
	"slices"
	"sync"

	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/desk"
	"github.com/parleyhub/parley/hub/fold"
)

// turns hands out the turns of agents: it sees every committed state, asks executors, and watches time. It writes nothing by itself; what is
// to be written are commands like everybody's. All of it may be lost.
type turns struct {
	hub       *Hub
	alarm     *conv.Clock
	recovered chan struct{} // closed when every open conversation was seen once
	stamps    stamps

	mu        sync.Mutex // guards the fields below
	desks     map[string]*place
	open      map[string]struct{}
	executors map[string]*executor   // by key
	serving   map[string][]*executor // by the name of an agent
	waiting   map[wanted][]inLine    // the longest first
	holdings  map[fold.ClaimHash]*holding
	counts    turnCounts
}

// place is the desk of a conversation.
type place struct {
	desk.Desk
	turn    int64
	wants   []wanted         // for which it is in waiting
	since   parley.Timestamp // by which it stands there
	asked   []*executor
	trace   string    // of the turn
	answers string    // the traceparent of what the turn answers
	rests   desk.Time // a command of the hub's own could not be written, or is left to another hub first: no other is tried before
	yielded bool      // it was left to another hub
}

func newTurns(h *Hub) *turns {
	t := &turns{
		hub: h, recovered: make(chan struct{}), desks: make(map[string]*place), open: make(map[string]struct{}), executors: make(map[string]*executor),
		serving: make(map[string][]*executor), waiting: make(map[wanted][]inLine), holdings: make(map[fold.ClaimHash]*holding),
	}
	t.alarm = conv.NewClock(h.conv, t.fire)
	t.counts.ended = make(map[parley.ClaimEnd]int64)
	return t
}

func (t *turns) now() desk.Time { return desk.Time(t.hub.Now().UnixMilli()) }

// Committed updates the desk of the conversation.
func (t *turns) Committed(c conv.Commit) {
	if !c.NeedsWork() {
		return
	}
	id, s, foreign := c.ID, c.State, c.Foreign(t.hub.shared)
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.Closed() {
		delete(t.open, id)
	} else {
		t.open[id] = struct{}{}
	}
	p := t.desks[id]
	if p == nil {
		if s.Claim == nil && len(s.Asks()) == 0 {
			return
		}
		p = &place{}
		t.desks[id] = p
	}
	if s.Seq < p.Seq() {
		return // a later state was faster
	}
	now := t.now()
	before, had := p.Claim()
	waited, floor := int64(0), false
	if s.Claim != nil {
		waited, floor = p.WaitedMs(now, s.Claim.AgentID)
	}
	p.Saw(now, s)
	after, has := p.Claim()
	if has && (!had || before.Hash != after.Hash) && t.hub.shared && !t.Recovered() {
		p.Guessed()
	}
	freed := t.claimMovedLocked(id, p, s, before, had, after, has, foreign)
	if x := t.waitsLocked(id, s); x != nil {
		freed = append(freed, x)
	}
	if has && (!had || before.Hash != after.Hash) && !foreign && after.At >= parley.TimestampOf(t.hub.started.Add(t.hub.opts.skew)) { // others stood when the hub was started, or are counted by another one
		t.counts.taken++
		if floor {
			t.counts.waits.observe(waited)
		}
	}
	t.waitLocked(id, p, s.FloorSince)
	t.stepLocked(id, p, true)
	if p.Idle() {
		delete(t.desks, id)
	}
	for _, x := range freed {
		t.feedLocked(x)
	}
}

// claimMovedLocked keeps what is known of the claims that stand, and tells the holder of one that has ended. It gives the executors that have room now.
func (t *turns) claimMovedLocked(id string, p *place, s *fold.State, before fold.Claim, had bool, after fold.Claim, has, foreign bool) (freed []*executor) {
	if had && (!has || before.Hash != after.Hash) {
		if x := t.endedLocked(id, before, s, foreign); x != nil {
			freed = append(freed, x)
		}
	}
	if has || s.CurrentTurn() != p.turn || s.Closed() {
		for _, x := range p.asked {
			delete(x.pending, id)
			freed = append(freed, x)
		}
		p.asked = nil
	}
	t.tracedLocked(p, s)
	if !has || had && before.Hash == after.Hash {
		return freed
	}
	h := t.holdings[after.Hash]
	if h == nil {
		h = &holding{conversation: id, agentID: after.AgentID, turn: after.Turn, executorID: after.ExecutorID}
		t.holdings[after.Hash] = h
	}
	if seat := s.Seat(after.AgentID); seat >= 0 {
		h.serves, h.seats = s.ServedBy(seat), s.Participants
	}
	t.assignLocked(h, h.conn)
	switch {
	case h.conn != nil:
		p.Found(after.Hash)
	case !t.hub.shared: // else another hub may have the holder
		p.Lost(t.now(), after.Hash)
	}
	return freed
}

// fire steps a desk whose time has come.
func (t *turns) fire(id string) {
	t.mu.Lock()
	p := t.desks[id]
	if p == nil {
		t.mu.Unlock()
		return
	}
	if p.rests > t.now() { // the state that was read again has set the alarm to now
		t.alarm.Set(id, parley.Timestamp(p.rests))
		t.mu.Unlock()
		return
	}
	t.tireLocked(id, p)
	commands := t.stepLocked(id, p, false)
	if t.yieldsLocked(id, p, commands) {
		commands = nil
	}
	t.mu.Unlock()
	for _, cmd := range commands {
		t.run(id, cmd)
	}
}

// yieldsLocked leaves what every hub of the journal finds due to another one first, once. What only one of them knows, that a holder is lost or back, is not put off.
func (t *turns) yieldsLocked(id string, p *place, commands []fold.Command) bool {
	if !t.hub.shared {
		return false
	}
	wait := t.hub.presence.Patience(id)
	if wait == 0 || len(commands) == 0 || p.yielded || slices.ContainsFunc(commands, func(c fold.Command) bool { return c.Verb == fold.Renew }) {
		p.yielded = false
		return false
	}
	p.yielded = true
	p.Again()
	p.rests = t.now() + desk.Time(wait.Milliseconds())
	t.alarm.Set(id, parley.Timestamp(p.rests))
	return true
}

// run decides a command of the hub's own. One that cannot be written is tried again.
func (t *turns) run(id string, cmd fold.Command) {
	c, err := t.hub.conv.Pin(id)
	if err != nil {
		t.again(id, conv.RetryRead.Milliseconds())
		return
	}
	c.Do(&conv.Request{Cmd: cmd, Reply: func(_ *fold.Decision, err error) {
		if err != nil && t.hub.Err() == nil {
			t.again(id, conv.RetryWrite.Milliseconds())
		}
	}})
}

func (t *turns) again(id string, ms int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.desks[id]; p != nil {
		p.Again()
		p.rests = t.now() + desk.Time(min(ms, conv.RetryWrite.Milliseconds()))
		t.alarm.Set(id, parley.Timestamp(t.now())+parley.Timestamp(ms))
	}
}

func (t *turns) Recovered() bool {
	select {
	case <-t.recovered:
		return true
	default:
		return false
	}
}
