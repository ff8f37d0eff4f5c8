package hub

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/journal"
)

// op is one command on its way: decided, perhaps submitted, answered once. It holds a pin of its conversation until then.
type op struct {
	n int64
	// by asks; nil is the hub itself, which sees everything.
	by     *Principal
	cmd    fold.Command
	labels []string
	// above is true where by need not see the conversation: it was found to be one who answers an approval of it.
	above bool
	// expects, where it is not 0, is the seq on which it was made up: on any other head it is refused with errPassed, and nothing comes of it.
	expects int64
	// claimID is the id whose hash is cmd.New; empty where no claim is taken.
	claimID string
	// reply is called once, without a lock held. If o is lent, it keeps nothing of d.
	reply func(d *fold.Decision, err error)

	decision fold.Decision
	decided  time.Time
	frames   []frame
	events   [][]byte // of frames
	keys     []keyChange
	err      error

	lent bool // it is one of ops, and goes back there once it is answered
}

// ops are for what is asked most, so that the large structs of a command and its decision are not made anew for each.
var ops = sync.Pool{New: func() any { return new(op) }}

func lendOp() *op {
	o := ops.Get().(*op)
	o.lent = true
	return o
}

// giveBack forgets everything but the room of the slices.
func (o *op) giveBack() {
	if !o.lent {
		return
	}
	*o = op{decision: fold.Decision{Events: emptied(o.decision.Events)}, frames: emptied(o.frames), events: emptied(o.events), keys: emptied(o.keys)}
	ops.Put(o)
}

// emptied gives the room of a slice, and lets go of what lies in it: also behind its end, of events that were taken back or decided anew.
func emptied[T any](s []T) []T {
	clear(s[:cap(s)])
	return s[:0]
}

// keyChange is a key that an op has entered, and what stood there before.
type keyChange struct {
	id    fold.KeyID
	entry fold.KeyEntry
	had   bool
}

// do decides o and answers it when what the answer rests on is durable. The conversation is pinned by the caller; do
// gives the pin back.
func (c *conversation) do(o *op) {
	if err := c.hub.begin(); err != nil {
		o.reply(&o.decision, err)
		o.giveBack()
		c.hub.unpin(c)
		return
	}
	c.mu.Lock()
	c.asked++
	o.n = c.asked
	ready := c.decideLocked(o)
	c.mu.Unlock()
	if ready {
		c.finish(o)
	}
}

// ask decides o, of a conversation that its caller has pinned, and waits for the answer. answered is false when ctx has ended before: then what comes of o is not
// known.
func (c *conversation) ask(ctx context.Context, o *op) (d *fold.Decision, answered bool, err error) {
	type answer struct {
		d   *fold.Decision
		err error
	}
	answers := make(chan answer, 1) // reply never blocks, even when nobody waits any more
	o.reply = func(d *fold.Decision, err error) { answers <- answer{d, err} }
	c.hub.repin(c)
	c.do(o)
	select {
	case a := <-answers:
		return a.d, true, a.err
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// finish answers o.
func (c *conversation) finish(o *op) {
	err := o.err
	if err == nil {
		err = o.decision.Err
	}
	if err == nil && o.decision.Duplicate {
		c.hub.counters.duplicates.Add(1)
	}
	o.reply(&o.decision, err)
	o.giveBack()
	c.hub.unpin(c)
	c.hub.end()
}

// decideLocked decides o on the head and reports whether it can be answered now.
func (c *conversation) decideLocked(o *op) bool {
	if c.broken {
		o.err = errBroken
		return true
	}
	if c.reloading {
		c.retry = append(c.retry, o)
		return false
	}
	if c.hub.shared {
		c.freshenLocked() // so that less is decided twice
	}
	if c.head.ID == "" {
		c.head.ID = c.id
	}
	o.cmd.Before, o.cmd.After = c.frameHead, frameEnd
	if o.by != nil {
		o.cmd.Executor, o.cmd.By = o.by.conn.who(), o.by.home
		o.cmd.Implied, o.cmd.ImpliedTurn = o.by.implied(c.id, c.head.Claim)
	}
	if c.head.Claim != nil && c.head.Awaits() {
		o.cmd.HeldMs, _ = c.hub.turns.watched(c.id, c.head.Claim.Hash)
	}
	o.decided = c.hub.Now()
	o.cmd.Now = parley.TimestampOf(o.decided)
	before := c.head.Seq
	switch {
	case o.expects != 0 && o.expects != before:
		o.decision = fold.Decision{State: c.head, RestsOn: before, Err: errPassed}
	case o.by != nil && c.hub.Valid(o.by) != nil: // since it was let in: nothing of its follows the answer of its revocation, or its expiry
		o.decision = fold.Decision{State: c.head, Err: c.hub.Valid(o.by)}
	case o.by != nil && !o.above && !o.by.sees(&c.head): // again: what it was seen by may be lost
		o.decision = fold.Decision{State: c.head, RestsOn: before, Err: errNotFound}
	case o.by != nil && !o.by.isOfNow(&c.head):
		o.decision = fold.Decision{State: c.head, RestsOn: before, Err: errClaimOver}
	case o.by != nil && c.hub.sessions.waitsForParent(&c.head, o.cmd.From):
		o.decision = fold.Decision{State: c.head, RestsOn: before, Err: errUntold}
	default:
		fold.DecideInto(&o.decision, &c.head, c.keys, &o.cmd)
	}
	if o.decision.Claimed {
		c.hub.turns.take(c.id, o)
	}
	if len(o.decision.Events) > 0 {
		c.submitLocked(o, before)
		return false
	}
	if c.hub.shared && c.needsCheckLocked(o) {
		c.checkLocked(o) // a refusal is given on the head only
		return false
	}
	if o.decision.RestsOn <= c.durable.Seq {
		return true
	}
	c.waiting = append(c.waiting, o)
	return false
}

// submitLocked moves the head on and gives the events to the journal. Calls are in the order of decision because c.mu is held.
func (c *conversation) submitLocked(o *op, before int64) {
	o.frames, o.events, o.keys = o.frames[:0], o.events[:0], o.keys[:0]
	for i := range o.decision.Events {
		e := &o.decision.Events[i]
		o.frames = append(o.frames, frame{seq: e.Event.Seq, data: e.Data, tail: e.Framed, meta: fold.MetaOf(&e.Event)})
		o.events = append(o.events, e.Data)
		ids, entry := fold.KeysOf(&e.Event, e.Claim)
		for _, id := range ids {
			before, had := c.keys.Find(id)
			o.keys = append(o.keys, keyChange{id, before, had})
			c.keys.Propose(id, entry)
		}
	}
	on := c.onLocked(o.events)
	c.head = o.decision.State
	c.pending = append(c.pending, o)
	labels := o.labels
	if o.decision.Err != nil {
		labels = nil // the hub's own close, not what was asked for
	}
	c.hub.journal.Submit(journal.Batch{
		Conversation: c.id, After: before, On: on, Events: o.events, Final: c.head.Closed(), Labels: labels,
		Done: func(h journal.Head, err error) { c.committed(o, h, err) },
	})
}

// onLocked gives the hash on which events are decided, where that must be told, and moves it on.
func (c *conversation) onLocked(events [][]byte) *journal.Hash {
	if !c.hub.shared {
		return nil // nobody else writes: what follows a batch that failed has the wrong seq
	}
	switch {
	case c.head.Seq == 0:
		c.headHash = journal.Genesis(c.id)
	case len(c.pending) == 0:
		c.headHash = c.hash
	}
	on := c.headHash
	for _, data := range events {
		c.headHash = c.headHash.Next(data)
	}
	return &on
}

// committed is the journal's answer to o. It comes in the order of submission.
func (c *conversation) committed(o *op, head journal.Head, err error) {
	if errors.Is(err, journal.ErrOutcomeUnknown) {
		c.hub.fail(err) // first: nothing shall be decided on what may not be the log
	}
	switch {
	case err == nil:
		c.hub.full.Store(0)
		c.hub.counters.committed(o.frames, o.decided)
	case errors.Is(err, journal.ErrStorageFull):
		c.hub.full.Store(c.hub.Now().UnixMilli())
	}
	var finished []*op // after o, unless it is to be decided again
	answered := err == nil
	c.mu.Lock()
	c.outLocked(o)
	if err == nil {
		c.durable, c.hash = o.decision.State, head.Hash
		c.committedSeq.Store(c.durable.Seq)
		c.keys.Settle(c.durable.Seq)
		for _, f := range o.frames {
			c.pushLocked(f)
		}
		c.notifyLocked(committedHere) // before the replies
		finished = c.restedLocked()
		c.wakeLocked()
	} else {
		if o.decision.Claimed {
			c.hub.turns.drop(c.id, o) // before it is decided again, and perhaps takes the claim again
		}
		answered = c.lostLocked(o, err)
	}
	c.mu.Unlock()

	if err == nil {
		c.hub.tellTurn(&o.decision.State, o.decision.Events[0].Event.Seq)
		if o.decision.Claimed && o.decision.State.Claim == nil { // a limit has closed the conversation with the same append
			c.hub.turns.drop(c.id, o)
		}
	}
	if answered {
		c.finish(o)
	}
	for _, f := range finished {
		c.finish(f)
	}
}

// restedLocked takes the ops whose answer rests on nothing that is not durable.
func (c *conversation) restedLocked() []*op {
	if len(c.waiting) == 0 {
		return nil
	}
	var rested []*op
	c.waiting = slices.DeleteFunc(c.waiting, func(w *op) bool {
		if w.decision.RestsOn > c.durable.Seq {
			return false
		}
		rested = append(rested, w)
		return true
	})
	return rested
}

// outLocked takes out an op that the journal has answered.
func (c *conversation) outLocked(o *op) {
	c.pending = slices.DeleteFunc(c.pending, func(p *op) bool { return p == o })
}

// backLocked goes on when an op has come back with which nothing was lost: it gives those that rested on it.
func (c *conversation) backLocked() []*op {
	if c.reloading {
		c.reloadLocked()
		return nil
	}
	return c.restedLocked()
}

// reloadLocked begins to read the state anew once the last op has come back.
func (c *conversation) reloadLocked() {
	if len(c.pending) == 0 {
		c.retry = append(c.retry, c.waiting...)
		c.waiting = nil
		c.hub.wg.Go(c.reload)
	}
}

// lostLocked deals with an append that is not in the log: o is to be answered, or is decided again when only the head had moved; and everything that was
// decided on it is decided again once the last of them has come back.
func (c *conversation) lostLocked(o *op, err error) (answered bool) {
	for _, k := range slices.Backward(o.keys) {
		switch now, ok := c.keys.Find(k.id); {
		case !ok || now.Seq <= c.durable.Seq: // an op before o, which is lost too, had the key as well and has put this back
		case k.had && k.entry.Seq <= c.durable.Seq:
			c.keys.Propose(k.id, k.entry)
		default:
			c.keys.Delete(k.id)
		}
	}
	c.reloading, c.head = true, c.durable // nothing after o can be in the log
	var moved *journal.MovedError
	if errors.As(err, &moved) || errors.Is(err, journal.ErrFinal) {
		c.retry = append(c.retry, o)
	} else {
		o.err = refusalOf(err)
		answered = true
	}
	c.reloadLocked()
	return answered
}

// refusalOf gives what a caller is told of a failed append.
func refusalOf(err error) error {
	switch {
	case errors.Is(err, journal.ErrStorageFull):
		return &parley.Error{Err: parley.ErrStorageFull, Message: "the hub has no room left; nothing was written", RetryAfterMs: 1000}
	case errors.Is(err, journal.ErrOutcomeUnknown):
		return parley.Refuse(parley.ErrOutcomeUnknown, "the commit failed; the append may or may not be in the log", "a retry with the same clientRequestId")
	case errors.Is(err, journal.ErrOverloaded):
		return &parley.Error{Err: parley.ErrUnavailable, Message: "the log cannot keep up; nothing was written", RetryAfterMs: 100}
	case errors.Is(err, journal.ErrFormat): // of a journal that is shared; one that is not is not opened then
		return errNewer
	case errors.Is(err, journal.ErrUnavailable):
		return &parley.Error{Err: parley.ErrUnavailable, Message: "the log cannot be reached; nothing was written", RetryAfterMs: 1000}
	case errors.Is(err, journal.ErrClosed):
		return errDraining
	}
	return parley.Refuse(parley.ErrInternal, "the log refused the append; nothing was written", "")
}

var errNewer = &parley.Error{
	Err: parley.ErrUnavailable, Message: "the log has what a newer version has written, and this hub does not read it; nothing was written", Expected: "a hub of that version", RetryAfterMs: 1000,
}

// errPassed is told to who has made something up on a state that another one has followed. No caller is told so.
var errPassed = errors.New("the state has passed")

var errBroken = parley.Refuse(parley.ErrUnavailable, "the conversation could not be read after a failed append", "")

// reload reads the state anew and decides the ops that were waiting for that, in the order in which they came.
func (c *conversation) reload() {
	var finished []*op
	err := c.hub.Err()
	c.mu.Lock()
	if err == nil {
		err = c.catchUpLocked()
	}
	c.reloading, c.broken = false, err != nil
	slices.SortFunc(c.retry, func(a, b *op) int { return cmp.Compare(a.n, b.n) })
	retry := c.retry
	c.retry = nil
	for _, o := range retry {
		if c.decideLocked(o) {
			finished = append(finished, o)
		}
	}
	c.wakeLocked()
	if err == nil {
		c.notifyLocked(reloadedAfterLoss)
	}
	c.mu.Unlock()
	if err != nil {
		c.hub.log.Error("cannot read a conversation after a failed append", "conversation", c.id, "error", err)
	}
	for _, o := range finished {
		c.finish(o)
	}
}
