package conv

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/idempotency"
	"github.com/parleyhub/parley/hub/journal"
)

// A round is the requests of a conversation whose events are one append. They are decided one after the
// other on the head. It is open until the journal takes it. Then it is in flight, and the requests that
// arrive are the next open round, which is submitted once the journal has answered.
type round struct {
	requests []*Request // in the order of their decision; the last ones need not have events
	writes   int        // the number of requests with events
	decided  time.Time
	events   [][]byte // of requests
	bytes    int      // of events
	keys     []keyChange
	labels   []string
}

// Bounds of a round. Beyond them the next round begins. A batch of the journal has room for more.
const (
	maxRoundEvents = 1000
	maxRoundBytes  = 512 << 10
)

// rounds keeps the arrays of rounds for reuse.
var rounds = sync.Pool{New: func() any { return new(round) }}

// isFull reports whether the next request must wait for the next round. Labels belong to the first
// record of an append, so a round ends with a request that has some.
func (o *round) isFull() bool {
	return len(o.events) >= maxRoundEvents || o.bytes >= maxRoundBytes || len(o.labels) > 0
}

func (o *round) release() {
	if cap(o.events) > 2*maxRoundEvents || cap(o.requests) > 2*maxRoundEvents {
		return
	}
	*o = round{requests: cleared(o.requests), events: cleared(o.events), keys: cleared(o.keys)}
	rounds.Put(o)
}

// restore takes back the keys and claims of a round of a conversation.
func (o *round) restore(conversation string, keys *idempotency.Keys) {
	for _, k := range slices.Backward(o.keys) {
		if k.had {
			keys.Propose(k.id, k.entry)
		} else {
			keys.Delete(k.id)
		}
	}
	for _, r := range o.requests {
		if r.Decision.Claimed {
			r.Claims.Dropped(conversation, r) // before it is decided again, which may take the claim again
		}
	}
}

// keyChange is a key that a request has set, and its entry before.
type keyChange struct {
	id    idempotency.KeyID
	entry idempotency.KeyEntry
	had   bool
}

// decideLocked decides the requests in the queue. It returns those that can be answered now. If submits
// is true, the caller calls submit after it has unlocked c.mu.
func (c *Conversation) decideLocked() (ready []*Request, submits bool) {
	if c.reloading || len(c.queue) == 0 || c.open != nil && c.open.isFull() {
		return nil, false
	}
	if c.engine.Shared() {
		c.freshenLocked() // so that fewer requests are decided twice
	}
	if c.broken {
		ready, c.queue = c.queue, nil
		for _, r := range ready {
			r.err = errBroken
		}
		return ready, false
	}
	now := c.engine.Now()
	n := 0
	for ; n < len(c.queue) && (c.open == nil || !c.open.isFull()); n++ {
		r := c.queue[n]
		c.decideOneLocked(r, now)
		if c.open == nil && c.flight == nil && !r.needsAppend(c.engine.Shared()) {
			ready = append(ready, r)
			continue
		}
		if c.open == nil {
			c.open = rounds.Get().(*round)
			c.open.decided = now
			submits = c.flight == nil
		}
		c.addLocked(c.open, r)
	}
	if n == len(c.queue) && n <= keepQueue {
		c.queue = cleared(c.queue)
	} else {
		c.queue = slices.Clone(c.queue[n:])
	}
	return ready, submits
}

// keepQueue is the longest queue whose array is used again.
const keepQueue = 16

// decideOneLocked decides r on the head.
func (c *Conversation) decideOneLocked(r *Request, now time.Time) {
	if c.head.ID == "" {
		c.head.ID = c.id
	}
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
		o.events = append(o.events, e.Data)
		o.bytes += len(e.Data)
		r.size += int64(len(e.Data))
		c.engine.asked.Add(int64(len(e.Data)))
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

// submit submits the open round to the journal, which seals it when it takes it. Until then requests
// that arrive are part of it.
func (c *Conversation) submit() {
	c.engine.journal.Submit(journal.Batch{Conversation: c.id, Seal: c.seal, Done: c.finish})
}

// seal puts the open round in flight. A round without events asks a shared journal whether the head is
// still the head.
func (c *Conversation) seal(b *journal.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.open
	c.open, c.flight = nil, o
	b.After, b.Events, b.Labels, b.Final = c.durable.Seq, o.events, o.labels, o.writes > 0 && c.head.Closed()
	if c.engine.Shared() {
		b.On = new(journal.Hash)
		if *b.On = c.hash; c.durable.Seq == 0 {
			*b.On = journal.Genesis(c.id)
		}
	}
}

// finish is the journal's answer to the round in flight, or to the open one if it was refused before it
// was sealed.
func (c *Conversation) finish(head journal.Head, err error) {
	c.mu.Lock()
	o := c.flight
	if o == nil {
		o, c.open = c.open, nil
	}
	c.reloading = err != nil
	c.mu.Unlock()
	switch {
	case err == nil && o.writes > 0:
		c.engine.full.Store(0)
		c.engine.counters.appends.Observe(o.writes, time.Since(o.decided))
	case errors.Is(err, journal.ErrOutcomeUnknown):
		c.engine.fail(err) // first, so that nothing is decided on a state that may not be in the log
	case errors.Is(err, journal.ErrStorageFull):
		c.engine.NoteFull()
	}
	if err != nil {
		c.engine.Repin(c)                         // the requests that are refused end their pins
		c.engine.wg.Go(func() { c.lose(o, err) }) // it reads the journal
		return
	}
	c.mu.Lock()
	if o.writes > 0 {
		c.hash = head.Hash
		c.committedSeq.Store(head.Seq)
		c.keys.Settle(head.Seq)
		for _, r := range o.requests { // an observer misses no claim that begins and ends in one round
			if len(r.Decision.Events) > 0 {
				c.durable = r.Decision.State
				c.keepLocked(r.Decision.Events)
				c.notifyLocked(CommittedHere) // before the replies
			}
		}
	}
	c.flight = nil
	ready := c.takeDurableLocked()
	rests := c.open != nil
	more, submits := c.decideLocked()
	ready, submits = append(ready, more...), submits || rests
	c.readers.wake()
	c.mu.Unlock()
	if submits {
		c.submit()
	}
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
	c.answer(ready)
	o.release()
}

// takeDurableLocked takes the first requests of the open round that can be answered, because no round is
// in flight any more.
func (c *Conversation) takeDurableLocked() (ready []*Request) {
	o := c.open
	if o == nil {
		return nil
	}
	n := 0
	for n < len(o.requests) && !o.requests[n].needsAppend(c.engine.Shared()) {
		n++
	}
	ready = slices.Clone(o.requests[:n])
	if o.requests = slices.Delete(o.requests, 0, n); len(o.requests) == 0 {
		c.open = nil
		o.release()
	}
	return ready
}

// lose handles a round whose append failed. If another hub has appended, all requests are decided
// again; else those that depend on the append are refused. The conversation is read again before the
// next decision.
func (c *Conversation) lose(o *round, err error) {
	defer c.engine.Unpin(c)
	again := c.undo(o, err)
	unread := c.engine.Err()
	c.mu.Lock()
	if unread == nil {
		unread = c.catchUpLocked()
	}
	c.broken = unread != nil
	c.queue, c.reloading = append(again, c.queue...), false
	ready, submits := c.decideLocked()
	c.readers.wake()
	if unread == nil {
		c.notifyLocked(ReloadedAfterLoss)
	}
	c.mu.Unlock()
	if submits {
		c.submit()
	}
	if unread != nil {
		c.engine.log.Error("cannot read a conversation after a failed append", "conversation", c.id, "error", unread)
	}
	c.answer(ready)
}

// undo takes back what the decisions of a lost round changed, and those of the open round that follows
// it. It refuses the requests that depend on the append, and returns those that are decided again.
func (c *Conversation) undo(o *round, err error) (again []*Request) {
	var refused []*Request
	c.mu.Lock()
	next := c.open
	if c.open, c.flight = nil, nil; next != nil {
		next.restore(c.id, &c.keys)
	}
	o.restore(c.id, &c.keys)
	c.head = c.durable
	for _, r := range o.requests {
		if hasMoved(err) || len(r.Decision.Events) == 0 && !c.engine.Shared() {
			again = append(again, r)
			continue
		}
		r.err = RefusalOf(err)
		refused = append(refused, r)
	}
	if next != nil {
		again = append(again, next.requests...)
		next.release()
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
