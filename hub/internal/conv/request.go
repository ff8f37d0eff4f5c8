package conv

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"unsafe"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/journal"
)

// Request is a command for a conversation. It holds a pin of the conversation until it is answered,
// and is answered once.
type Request struct {
	// By is the caller; nil is the hub, which may do everything.
	By  Caller
	Cmd fold.Command
	// Message is what Cmd.Do points to for a message, so that it needs no allocation.
	Message fold.Message
	Labels  []string // of the conversation, for the journal, if the command creates it
	// Unseen is set if By need not see the conversation. Then By was found to be a resolver of one
	// of its approvals.
	Unseen bool
	// Expects is the seq for which the command was computed; 0: any. On another head the request fails
	// with ErrStale and writes nothing.
	Expects int64
	// ClaimID is the id whose hash Cmd.NewClaim has, and Claims is notified if the claim is taken; nil if
	// the command takes no claim.
	ClaimID string
	Claims  ClaimObserver
	// Reply is called once, without a lock. If the request comes from LendRequest, Reply must not keep
	// anything of d.
	Reply func(d *fold.Decision, err error)

	// Decision is the latest decision on the command.
	Decision fold.Decision

	size  int64 // counted in Engine.asked
	err   error
	final bool // events of other hubs cannot change the refusal
	lent  bool // it returns to the pool once it is answered
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
	r.Decision.Reset()
	*r = Request{Decision: r.Decision}
	requests.Put(r)
}

// cleared returns s with length 0. It clears all of the array, so that old events can be collected.
func cleared[T any](s []T) []T {
	clear(s[:cap(s)])
	return s[:0]
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
	r.size = int64(unsafe.Sizeof(*r)) + payloadBytes(r.Cmd.Do)
	if c.engine.asked.Add(r.size) > maxAsked {
		r.err = RefusalOf(journal.ErrOverloaded)
		c.answer([]*Request{r})
		return
	}
	c.mu.Lock()
	c.queue = append(c.queue, r)
	ready, submits := c.decideLocked()
	c.mu.Unlock()
	if submits {
		c.submit()
	}
	c.answer(ready)
}

// payloadBytes returns the size of the payload of an action.
func payloadBytes(a fold.Action) int64 {
	switch a := a.(type) {
	case *fold.Message:
		return int64(len(a.Payload))
	case *fold.Trace:
		return int64(len(a.Payload))
	case *fold.Create:
		return int64(len(a.Payload))
	}
	return 0
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

// answer replies to requests and ends their pins.
func (c *Conversation) answer(requests []*Request) {
	for _, r := range requests {
		err := cmp.Or(r.err, r.Decision.Err)
		if err == nil && r.Decision.Duplicate {
			c.engine.counters.duplicates.Add(1)
		}
		c.engine.asked.Add(-r.size)
		r.Reply(&r.Decision, err)
		r.GiveBack()
		c.engine.Unpin(c)
		c.engine.End()
	}
}

// maxAsked bounds the bytes of the requests that are not answered. Beyond it they are refused.
const maxAsked = 64 << 20

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
	create := &fold.Create{Params: &parley.CreateConversationParams{Title: title}}
	cmd := fold.Command{Do: create, From: parley.HubID}
	c.Do(&Request{Cmd: cmd, Reply: func(_ *fold.Decision, err error) {
		if err != nil && !errors.Is(err, parley.ErrAlreadyExists) { // else another first use created it
			then(nil, err)
			return
		}
		then(e.Pin(id)) // the pin of c ends with this answer; it is in memory
	}})
}
