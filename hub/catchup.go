package hub

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
)

// What a hub that shares its journal reads may be behind what another hub has acknowledged. So what it would refuse because of that it refuses only once it has caught up:
//
//	call -> refusal -> a check, which the journal answers when reads show whatever was committed before -> the follower has seen that -> call -> refusal, given
//
// An append is checked on the head of its own conversation: see [conversation.checkLocked]. A hub that is alone never is behind, and does none of this. Who calls and is refused waits,
// at most catchUpTime: so does what comes behind that on the same socket.

// catchUpTime bounds how long a refusal waits for the journal.
const catchUpTime = 5 * time.Second

// catching are the checks by which a hub catches up. One is under way at a time, for all who have asked before it was sent: refusals cost no more than that, however many there are.
type catching struct {
	id string // of a conversation that never is

	mu    sync.Mutex // guards the fields below
	under bool
	next  *round // of those who came after the one under way was sent; nil where there is none
}

// round is one check.
type round struct {
	done chan struct{} // closed when it is answered
	err  error
}

// errBehind is told where a refusal cannot be given, because nobody knows at the moment whether the hub is behind.
var errBehind = &parley.Error{Err: parley.ErrUnavailable, Message: "the hub cannot know at the moment whether it is behind the others", RetryAfterMs: 500}

// catchUp waits until this hub has seen everything that was committed, by any hub, before the call. It must not be called by who answers for the journal or follows it.
func (h *Hub) catchUp(ctx context.Context) error {
	if !h.shared {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	r := h.joinRound()
	select {
	case <-r.done:
	case <-h.draining:
		return errDraining
	case <-ctx.Done():
		return errBehind
	}
	switch {
	case errors.Is(r.err, journal.ErrClosed):
		return errDraining
	case r.err != nil:
		return errBehind
	}
	return h.follower.reach(ctx, h, h.journal.Last())
}

func (h *Hub) joinRound() *round {
	c := &h.catching
	c.mu.Lock()
	if c.next == nil {
		c.next = &round{done: make(chan struct{})}
	}
	r, first := c.next, !c.under
	if first {
		c.under, c.next = true, nil
	}
	c.mu.Unlock()
	if first {
		h.sendRound(r)
	}
	return r
}

// sendRound sends a check. That a conversation of which nobody writes an event has none always holds.
func (h *Hub) sendRound(r *round) {
	h.journal.Submit(journal.Batch{Conversation: h.catching.id, Done: func(_ journal.Head, err error) {
		r.err = err
		close(r.done)
		c := &h.catching
		c.mu.Lock()
		next := c.next
		c.next, c.under = nil, next != nil
		c.mu.Unlock()
		if next != nil {
			h.sendRound(next)
		}
	}})
}

// doubtful reports whether an answer is a refusal that this hub, where it is behind others, would perhaps not give if it were not.
func (h *Hub) doubtful(err error) bool {
	if err == nil || !h.shared {
		return false
	}
	var e *parley.Error
	if !errors.As(err, &e) || e == errRevoked || e == errExpired {
		return false
	}
	switch e.Err {
	case parley.ErrNotFound, parley.ErrForbidden, parley.ErrUnauthenticated, parley.ErrParameters:
		return true
	}
	return false
}

// sure makes a call that does nothing where it refuses, and makes it again before it is refused for good. Others than a shared hub make it once.
func sure[T any](ctx context.Context, h *Hub, call func() (T, error)) (T, error) {
	v, err := call()
	if !h.doubtful(err) {
		return v, err
	}
	if err := h.catchUp(ctx); err != nil {
		var none T
		return none, err
	}
	return call()
}
