package conv

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

// Request is a command for a conversation. It holds a pin of the conversation until it is answered,
// and is answered once.
type Request struct {
	// By is the caller; nil is the hub, which may do everything.
	By     Caller
	Cmd    fold.Command
	Labels []string // of the conversation, for the journal, if the command creates it
	// Unseen is set if By need not see the conversation. Then By was found to be a resolver of one
	// of its approvals.
	Unseen bool
	// Expects is the seq for which the command was computed; 0: any. On another head the request fails
	// with ErrStale and writes nothing.
	Expects int64
	// ClaimID is the id whose hash is Cmd.New, and Claims is notified if the claim is taken; nil if
	// the command takes no claim.
	ClaimID string
	Claims  ClaimObserver
	// Reply is called once, without a lock. If the request comes from LendRequest, Reply must not keep
	// anything of d.
	Reply func(d *fold.Decision, err error)

	// Decision is the latest decision on the command.
	Decision fold.Decision

	number  int64
	decided time.Time
	frames  []Frame
	events  [][]byte // of frames
	keys    []keyChange
	err     error
	final   bool // events of other hubs cannot change the refusal
	lent    bool // it returns to the pool once it is answered
}

// A ClaimObserver is notified of claims. The conversation is locked during Taken.
type ClaimObserver interface {
	// Taken is called when the decision of r takes a claim, before its commit.
	Taken(conversation string, r *Request)
	// Dropped is called if the claim is not in the log, or was ended by the same append.
	Dropped(conversation string, r *Request)
}

// requests keeps the large structs of frequent requests for reuse.
var requests = sync.Pool{New: func() any { return new(Request) }}

// LendRequest returns an empty request, which is reused once it is answered or given back.
func LendRequest() *Request {
	r := requests.Get().(*Request)
	r.lent = true
	return r
}

// GiveBack ends the use of a request that was not passed to Do.
func (r *Request) GiveBack() {
	if !r.lent {
		return
	}
	*r = Request{
		Decision: fold.Decision{Events: cleared(r.Decision.Events)},
		frames:   cleared(r.frames), events: cleared(r.events), keys: cleared(r.keys),
	}
	requests.Put(r)
}

// cleared returns s with length 0. It clears all of the array, so that old events can be collected.
func cleared[T any](s []T) []T {
	clear(s[:cap(s)])
	return s[:0]
}

// keyChange is a key that a request has set, and its entry before.
type keyChange struct {
	id    fold.KeyID
	entry fold.KeyEntry
	had   bool
}

// Do decides r and calls r.Reply when what the answer depends on is durable. The caller has pinned
// the conversation; Do unpins it.
func (c *Conversation) Do(r *Request) {
	if err := c.engine.Begin(); err != nil {
		r.Reply(&r.Decision, err)
		r.GiveBack()
		c.engine.Unpin(c)
		return
	}
	c.mu.Lock()
	c.asked++
	r.number = c.asked
	ready := c.decideLocked(r)
	c.mu.Unlock()
	if ready {
		c.answer(r)
	}
}

// Ask decides r and waits for the answer. The caller keeps its pin. answered is false if ctx ends
// first; then the outcome is unknown.
func (c *Conversation) Ask(ctx context.Context, r *Request) (d *fold.Decision, answered bool, err error) {
	type answer struct {
		d   *fold.Decision
		err error
	}
	answers := make(chan answer, 1) // Reply never blocks, even after ctx is done
	r.Reply = func(d *fold.Decision, err error) { answers <- answer{d, err} }
	c.engine.Repin(c)
	c.Do(r)
	select {
	case a := <-answers:
		return a.d, true, a.err
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// answer replies to r and ends its pin.
func (c *Conversation) answer(r *Request) {
	err := cmp.Or(r.err, r.Decision.Err)
	if err == nil && r.Decision.Duplicate {
		c.engine.counters.duplicates.Add(1)
	}
	r.Reply(&r.Decision, err)
	r.GiveBack()
	c.engine.Unpin(c)
	c.engine.End()
}

// decideLocked decides r on the head and reports whether it can be answered now.
func (c *Conversation) decideLocked(r *Request) bool {
	if c.broken {
		r.err = errBroken
		return true
	}
	if c.reloading {
		c.retry = append(c.retry, r)
		return false
	}
	if c.engine.Shared() {
		c.freshenLocked() // so that fewer requests are decided twice
	}
	if c.head.ID == "" {
		c.head.ID = c.id
	}
	r.Cmd.Before, r.Cmd.After = c.frameHead, frameEnd
	r.decided = c.engine.Now()
	r.Cmd.Now = parley.TimestampOf(r.decided)
	before := c.head.Seq
	refusal := c.engine.parts.Authorizer.Authorize(r, &c.head)
	switch {
	case r.Expects != 0 && r.Expects != before:
		r.Decision, r.final = fold.Decision{State: c.head, RestsOn: before, Err: ErrStale}, true
	case refusal != nil:
		r.Decision, r.final = fold.Decision{State: c.head, Err: refusal.Err}, refusal.Final
		if refusal.OnHead {
			r.Decision.RestsOn = before
		}
	default:
		r.final = false
		fold.DecideInto(&r.Decision, &c.head, c.keys, &r.Cmd)
	}
	if r.Decision.Claimed {
		r.Claims.Taken(c.id, r)
	}
	if len(r.Decision.Events) > 0 {
		c.submitLocked(r, before)
		return false
	}
	if c.engine.Shared() && c.needsCheckLocked(r) {
		c.checkLocked(r)
		return false
	}
	if r.Decision.RestsOn <= c.durable.Seq {
		return true
	}
	c.waiting = append(c.waiting, r)
	return false
}

// submitLocked moves the head and submits the events to the journal. Calls are in the order of
// decision because c.mu is held.
func (c *Conversation) submitLocked(r *Request, before int64) {
	r.frames, r.events, r.keys = r.frames[:0], r.events[:0], r.keys[:0]
	for i := range r.Decision.Events {
		e := &r.Decision.Events[i]
		r.frames = append(r.frames, Frame{Seq: e.Event.Seq, Data: e.Data, Tail: e.Framed, Meta: fold.MetaOf(&e.Event)})
		r.events = append(r.events, e.Data)
		ids, entry := fold.KeysOf(&e.Event, e.Claim)
		for _, id := range ids {
			old, had := c.keys.Find(id)
			r.keys = append(r.keys, keyChange{id, old, had})
			c.keys.Propose(id, entry)
		}
	}
	on := c.headHashLocked(r.events)
	c.head = r.Decision.State
	c.pending = append(c.pending, r)
	labels := r.Labels
	if r.Decision.Err != nil {
		labels = nil // the events close the conversation at a limit; they are not of the command
	}
	c.engine.journal.Submit(journal.Batch{
		Conversation: c.id, After: before, On: on, Events: r.events, Final: c.head.Closed(), Labels: labels,
		Done: func(h journal.Head, err error) { c.committed(r, h, err) },
	})
}

// headHashLocked returns the hash of the head, and moves it over events. It returns nil for the only
// hub of a journal: a batch after a failed one has the wrong seq there.
func (c *Conversation) headHashLocked(events [][]byte) *journal.Hash {
	if !c.engine.Shared() {
		return nil
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

// committed is the journal's answer to r. Answers come in the order of submission.
func (c *Conversation) committed(r *Request, head journal.Head, err error) {
	if errors.Is(err, journal.ErrOutcomeUnknown) {
		c.engine.fail(err) // first, so that nothing is decided on a state that may not be in the log
	}
	switch {
	case err == nil:
		c.engine.full.Store(0)
		c.engine.counters.count(r.frames, r.decided)
	case errors.Is(err, journal.ErrStorageFull):
		c.engine.NoteFull()
	}
	var ready []*Request // after r, unless it is decided again
	answered := err == nil
	c.mu.Lock()
	c.removePendingLocked(r)
	if err == nil {
		c.durable, c.hash = r.Decision.State, head.Hash
		c.committedSeq.Store(c.durable.Seq)
		c.keys.Settle(c.durable.Seq)
		for _, f := range r.frames {
			c.frames.push(f)
		}
		c.notifyLocked(CommittedHere) // before the replies
		ready = c.takeReadyLocked()
		c.readers.wake()
	} else {
		if r.Decision.Claimed {
			r.Claims.Dropped(c.id, r) // before it is decided again, which may take the claim again
		}
		answered = c.loseLocked(r, err)
	}
	c.mu.Unlock()

	if err == nil {
		if f := c.engine.parts.AfterCommit; f != nil {
			f(&r.Decision.State, r.Decision.Events[0].Event.Seq)
		}
		if r.Decision.Claimed && r.Decision.State.Claim == nil { // the same append closes the conversation at a limit
			r.Claims.Dropped(c.id, r)
		}
	}
	if answered {
		c.answer(r)
	}
	for _, w := range ready {
		c.answer(w)
	}
}

// takeReadyLocked removes and returns the waiting requests whose answer depends on durable events only.
func (c *Conversation) takeReadyLocked() []*Request {
	if len(c.waiting) == 0 {
		return nil
	}
	var ready []*Request
	c.waiting = slices.DeleteFunc(c.waiting, func(w *Request) bool {
		if w.Decision.RestsOn > c.durable.Seq {
			return false
		}
		ready = append(ready, w)
		return true
	})
	return ready
}

// removePendingLocked removes a request that the journal has answered.
func (c *Conversation) removePendingLocked(r *Request) {
	c.pending = slices.DeleteFunc(c.pending, func(p *Request) bool { return p == r })
}

// startReloadLocked starts a reload once no request is pending.
func (c *Conversation) startReloadLocked() {
	if len(c.pending) == 0 {
		c.retry = append(c.retry, c.waiting...)
		c.waiting = nil
		c.engine.wg.Go(c.reload)
	}
}

// loseLocked handles a failed append. It reports whether r is answered with the error; if only the
// head has moved, r is decided again. Everything that was decided on the lost events is decided again
// after the last pending request.
func (c *Conversation) loseLocked(r *Request, err error) (answered bool) {
	for _, k := range slices.Backward(r.keys) {
		switch now, ok := c.keys.Find(k.id); {
		case !ok || now.Seq <= c.durable.Seq: // an earlier lost request had the same key and restored it
		case k.had && k.entry.Seq <= c.durable.Seq:
			c.keys.Propose(k.id, k.entry)
		default:
			c.keys.Delete(k.id)
		}
	}
	c.reloading, c.head = true, c.durable // no event after r can be in the log
	if hasMoved(err) {
		c.retry = append(c.retry, r)
	} else {
		r.err = RefusalOf(err)
		answered = true
	}
	c.startReloadLocked()
	return answered
}

// hasMoved reports whether an append failed because another hub has appended.
func hasMoved(err error) bool {
	var moved *journal.MovedError
	return errors.As(err, &moved) || errors.Is(err, journal.ErrFinal)
}

// RefusalOf returns the error that a caller gets for a failed append.
func RefusalOf(err error) error {
	switch {
	case errors.Is(err, journal.ErrStorageFull):
		return &parley.Error{
			Err: parley.ErrStorageFull, Message: "the hub has no room left; nothing was written", RetryAfterMs: 1000,
		}
	case errors.Is(err, journal.ErrOutcomeUnknown):
		return parley.Refuse(parley.ErrOutcomeUnknown,
			"the commit failed; the append may or may not be in the log", "a retry with the same clientRequestId")
	case errors.Is(err, journal.ErrOverloaded):
		return &parley.Error{
			Err: parley.ErrUnavailable, Message: "the log cannot keep up; nothing was written", RetryAfterMs: 100,
		}
	case errors.Is(err, journal.ErrFormat): // only a shared journal: another one is not opened then
		return errNewer
	case errors.Is(err, journal.ErrUnavailable):
		return &parley.Error{
			Err: parley.ErrUnavailable, Message: "the log cannot be reached; nothing was written", RetryAfterMs: 1000,
		}
	case errors.Is(err, journal.ErrClosed):
		return ErrDraining
	}
	return parley.Refuse(parley.ErrInternal, "the log refused the append; nothing was written", "")
}

var errNewer = &parley.Error{
	Err:      parley.ErrUnavailable,
	Message:  "the log has records of a newer version that this hub cannot read; nothing was written",
	Expected: "a hub of that version", RetryAfterMs: 1000,
}

// ErrStale means that the head moved after the command was computed. It is internal and never
// returned to callers.
var ErrStale = errors.New("the head has moved")

var errBroken = parley.Refuse(parley.ErrUnavailable, "the conversation could not be read after a failed append", "")

// reload reads the state from the journal and decides the waiting requests in their order.
func (c *Conversation) reload() {
	var ready []*Request
	err := c.engine.Err()
	c.mu.Lock()
	if err == nil {
		err = c.catchUpLocked()
	}
	c.reloading, c.broken = false, err != nil
	slices.SortFunc(c.retry, func(a, b *Request) int { return cmp.Compare(a.number, b.number) })
	retry := c.retry
	c.retry = nil
	for _, r := range retry {
		if c.decideLocked(r) {
			ready = append(ready, r)
		}
	}
	c.readers.wake()
	if err == nil {
		c.notifyLocked(ReloadedAfterLoss)
	}
	c.mu.Unlock()
	if err != nil {
		c.engine.log.Error("cannot read a conversation after a failed append", "conversation", c.id, "error", err)
	}
	for _, r := range ready {
		c.answer(r)
	}
}

// Command decides a command of the hub and waits for its answer.
func (e *Engine) Command(id string, cmd fold.Command) error { return e.CommandAt(id, 0, cmd) }

// CommandAt is Command for the state with a seq. It fails with ErrStale if the head is another one;
// seq 0 is any.
func (e *Engine) CommandAt(id string, seq int64, cmd fold.Command) error {
	c, err := e.Pin(id)
	if err != nil {
		return err
	}
	defer e.Unpin(c)
	cmd.From = parley.HubID
	_, _, err = c.Ask(context.Background(), &Request{Cmd: cmd, Expects: seq})
	return err
}

// PinReserved pins a reserved conversation, which its first use creates, and passes it on.
func (e *Engine) PinReserved(id, title string, then func(*Conversation, error)) {
	c, err := e.Pin(id)
	if err != nil {
		then(nil, err)
		return
	}
	if head := c.Head(); head.Exists() {
		then(c, nil)
		return
	}
	cmd := fold.Command{Verb: fold.Create, From: parley.HubID, Create: &parley.CreateConversationParams{Title: title}}
	c.Do(&Request{Cmd: cmd, Reply: func(_ *fold.Decision, err error) {
		if err != nil && !errors.Is(err, parley.ErrAlreadyExists) { // else another first use created it
			then(nil, err)
			return
		}
		then(e.Pin(id)) // the pin of c ends with this answer; it is in memory
	}})
}
