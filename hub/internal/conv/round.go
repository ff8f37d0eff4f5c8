package conv

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/fold/idempotency"
	"github.com/parleyhub/parley/hub/journal"
)

// A round is the requests of a conversation that are decided together, one after the other on the
// head. Their events are one append. Requests that arrive while it is in flight form the next round.
type round struct {
	requests []*Request // in the order of their decision; the last ones need not have events
	writes   int        // the number of requests with events
	decided  time.Time
	frames   []Frame
	events   [][]byte // of frames
	bytes    int      // of events
	keys     []keyChange
	labels   []string
}

// Bounds of a round. Beyond them the next round begins. A batch of the journal has room for more.
const (
	maxRoundEvents = 1000
	maxRoundBytes  = 4 << 20
)

// rounds keeps the arrays of rounds for reuse.
var rounds = sync.Pool{New: func() any { return new(round) }}

// isFull reports whether the next request must wait for the next round. Labels belong to the first
// record of an append, so a round ends with a request that has some.
func (o *round) isFull() bool {
	return len(o.events) >= maxRoundEvents || o.bytes >= maxRoundBytes || len(o.labels) > 0
}

func (o *round) release() {
	*o = round{
		requests: cleared(o.requests), frames: cleared(o.frames), events: cleared(o.events), keys: cleared(o.keys),
	}
	rounds.Put(o)
}

// keyChange is a key that a request has set, and its entry before.
type keyChange struct {
	id    idempotency.KeyID
	entry idempotency.KeyEntry
	had   bool
}

// decideLocked decides the requests in the queue, unless a round is in flight, and submits the round.
// It returns the requests that can be answered now.
func (c *Conversation) decideLocked() (ready []*Request) {
	if c.flight != nil || len(c.queue) == 0 {
		return nil
	}
	if c.engine.Shared() {
		c.freshenLocked() // so that fewer requests are decided twice
	}
	if c.broken {
		ready, c.queue = c.queue, nil
		for _, r := range ready {
			r.err = errBroken
		}
		return ready
	}
	o := rounds.Get().(*round)
	o.decided = c.engine.Now()
	n := 0
	for ; n < len(c.queue) && !o.isFull(); n++ {
		r := c.queue[n]
		c.decideOneLocked(r, o.decided)
		if len(o.requests) == 0 && len(r.Decision.Events) == 0 && !c.needsCheckLocked(r) {
			ready = append(ready, r) // it depends on durable events only
			continue
		}
		c.addLocked(o, r)
	}
	if n == len(c.queue) && n <= keepQueue {
		c.queue = cleared(c.queue)
	} else {
		c.queue = slices.Clone(c.queue[n:])
	}
	if len(o.requests) == 0 {
		o.release()
		return ready
	}
	c.submitLocked(o)
	return ready
}

// keepQueue is the longest queue whose array is used again.
const keepQueue = 16

// decideOneLocked decides r on the head.
func (c *Conversation) decideOneLocked(r *Request, now time.Time) {
	if c.head.ID == "" {
		c.head.ID = c.id
	}
	r.Cmd.Before, r.Cmd.After = c.frameHead, frameEnd
	r.Cmd.Now = parley.TimestampOf(now)
	refusal := c.engine.parts.Authorizer.Authorize(r, &c.head)
	switch {
	case r.Expects != 0 && r.Expects != c.head.Seq:
		r.Decision, r.final = fold.Decision{State: c.head, Err: ErrStale}, true
	case refusal != nil:
		r.Decision, r.final = fold.Decision{State: c.head, Err: refusal.Err}, refusal.Final
	default:
		r.final = false
		fold.DecideInto(&r.Decision, &c.head, c.keys, &r.Cmd)
	}
	if r.Decision.Claimed {
		r.Claims.Taken(c.id, r)
	}
}

// addLocked adds a decided request to the round, and moves the head.
func (c *Conversation) addLocked(o *round, r *Request) {
	o.requests = append(o.requests, r)
	if len(r.Decision.Events) == 0 {
		return
	}
	o.writes++
	for i := range r.Decision.Events {
		e := &r.Decision.Events[i]
		o.frames = append(o.frames, Frame{Seq: e.Event.Seq, Data: e.Data, Tail: e.Framed, Meta: eventdata.MetaOf(&e.Event)})
		o.events = append(o.events, e.Data)
		o.bytes += len(e.Data)
		ids, entry := idempotency.KeysOf(&e.Event, e.Claim)
		for _, id := range ids {
			old, had := c.keys.Find(id)
			o.keys = append(o.keys, keyChange{id, old, had})
			c.keys.Propose(id, entry)
		}
	}
	c.head = r.Decision.State
	if r.Decision.Err == nil { // else the events close the conversation at a limit; they are not of the command
		o.labels = r.Labels
	}
}

// submitLocked submits the events of a round to the journal. A round without events asks a shared
// journal whether the head is still the head.
func (c *Conversation) submitLocked(o *round) {
	c.flight = o
	var on *journal.Hash
	if c.engine.Shared() {
		on = new(journal.Hash)
		if *on = c.hash; c.durable.Seq == 0 {
			*on = journal.Genesis(c.id)
		}
	}
	c.engine.journal.Submit(journal.Batch{
		Conversation: c.id, After: c.durable.Seq, On: on, Events: o.events,
		Final: o.writes > 0 && c.head.Closed(), Labels: o.labels,
		Done: func(h journal.Head, err error) { c.finish(o, h, err) },
	})
}

// finish is the journal's answer to the round in flight.
func (c *Conversation) finish(o *round, head journal.Head, err error) {
	switch {
	case err == nil && o.writes > 0:
		c.engine.full.Store(0)
		c.engine.counters.count(o.writes, o.frames, o.decided)
	case errors.Is(err, journal.ErrOutcomeUnknown):
		c.engine.fail(err) // first, so that nothing is decided on a state that may not be in the log
	case errors.Is(err, journal.ErrStorageFull):
		c.engine.NoteFull()
	}
	if err != nil {
		c.engine.wg.Go(func() { c.lose(o, err) }) // it reads the journal
		return
	}
	c.mu.Lock()
	if o.writes > 0 {
		c.durable, c.hash = c.head, head.Hash
		c.committedSeq.Store(c.durable.Seq)
		c.keys.Settle(c.durable.Seq)
		for _, f := range o.frames {
			c.frames.push(f)
		}
		c.notifyLocked(CommittedHere) // before the replies
	}
	c.flight = nil
	next := c.decideLocked()
	c.readers.wake()
	c.mu.Unlock()

	for _, r := range o.requests {
		if len(r.Decision.Events) == 0 {
			continue
		}
		if f := c.engine.parts.AfterCommit; f != nil {
			f(&r.Decision.State, r.Decision.Events[0].Event.Seq)
		}
		if r.Decision.Claimed && r.Decision.State.Claim == nil { // the same append closes the conversation at a limit
			r.Claims.Dropped(c.id, r)
		}
	}
	c.answer(o.requests)
	c.answer(next)
	o.release()
}

// lose handles a round whose append failed. If another hub has appended, all requests are decided
// again; else those that depend on the append are refused. The conversation is read again before the
// next decision.
func (c *Conversation) lose(o *round, err error) {
	again := c.undo(o, err)
	unread := c.engine.Err()
	c.mu.Lock()
	if unread == nil {
		unread = c.catchUpLocked()
	}
	c.broken = unread != nil
	c.queue, c.flight = append(again, c.queue...), nil
	ready := c.decideLocked()
	c.readers.wake()
	if unread == nil {
		c.notifyLocked(ReloadedAfterLoss)
	}
	c.mu.Unlock()
	if unread != nil {
		c.engine.log.Error("cannot read a conversation after a failed append", "conversation", c.id, "error", unread)
	}
	c.answer(ready)
}

// undo takes back what the decisions of a lost round changed. It refuses the requests that depend on
// the append, and returns those that are decided again.
func (c *Conversation) undo(o *round, err error) (again []*Request) {
	var refused []*Request
	c.mu.Lock()
	for _, k := range slices.Backward(o.keys) {
		if k.had {
			c.keys.Propose(k.id, k.entry)
		} else {
			c.keys.Delete(k.id)
		}
	}
	c.head = c.durable
	for _, r := range o.requests {
		if r.Decision.Claimed {
			r.Claims.Dropped(c.id, r) // before it is decided again, which may take the claim again
		}
		if hasMoved(err) || len(r.Decision.Events) == 0 && !c.engine.Shared() {
			again = append(again, r)
			continue
		}
		r.err = RefusalOf(err)
		refused = append(refused, r)
	}
	c.mu.Unlock()
	c.answer(refused)
	o.release()
	return again
}

// hasMoved reports whether an append failed because another hub has appended.
func hasMoved(err error) bool {
	var moved *journal.MovedError
	return errors.As(err, &moved) || errors.Is(err, journal.ErrFinal)
}
