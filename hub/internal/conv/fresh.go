package conv

import (
	"errors"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// This file has the part of a hub that shares its journal: other hubs append to the conversations
// too.

// Refresh reads a conversation up to a seq that another hub committed, and notifies the observers.
// It skips conversations whose observers were notified of that seq, and reserved ones that are not in
// memory.
func (e *Engine) Refresh(id string, seq int64) {
	c := e.find(id)
	if c == nil && Reserved(id) {
		return
	}
	if c != nil {
		c.mu.Lock()
		isNotified := c.notifiedSeq >= seq
		c.mu.Unlock()
		if isNotified {
			return
		}
	}
	c, err := e.Pin(id)
	if err != nil {
		if !errors.Is(err, ErrDraining) {
			e.log.Error("cannot follow a conversation", "conversation", id, "error", err)
		}
		return
	}
	defer e.Unpin(c)
	c.follow(seq)
}

// follow waits until the conversation was read up to a seq that the journal has.
func (c *Conversation) follow(seq int64) {
	for {
		c.mu.Lock()
		c.freshenLocked()
		if c.durable.Seq >= seq || c.broken {
			if !c.broken && c.notifiedSeq < c.durable.Seq { // a load read it
				c.notifyLocked(CommittedByPeer)
			}
			c.mu.Unlock()
			return
		}
		changed := c.readers.awaitChange() // by the round in flight
		c.mu.Unlock()
		select {
		case <-changed:
		case <-c.engine.draining:
			return
		}
	}
}

// Freshen reads the events that other hubs appended, as far as the journal shows them.
func (c *Conversation) Freshen() {
	if !c.engine.Shared() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freshenLocked()
}

// isIdleLocked reports whether nothing is decided that is not durable.
func (c *Conversation) isIdleLocked() bool { return c.open == nil && c.flight == nil && !c.reloading }

// freshenLocked reads the events that other hubs appended. While a round is in flight, its outcome
// reports such events.
func (c *Conversation) freshenLocked() {
	if !c.isIdleLocked() || c.broken {
		return
	}
	if head, err := c.engine.journal.Head(c.id); err != nil || head.Seq <= c.head.Seq {
		return
	}
	if err := c.catchUpLocked(); err != nil {
		c.broken = true
		c.engine.log.Error("cannot read the events of another hub", "conversation", c.id, "error", err)
	} else {
		c.notifyLocked(CommittedByPeer)
	}
	c.readers.wake()
}

// needsAppend reports whether the journal must answer a request, with or without events.
func (r *Request) needsAppend(shared bool) bool {
	return len(r.Decision.Events) > 0 || shared && r.needsCheck()
}

// needsCheck reports whether a decision without events may be different on events of other hubs.
func (r *Request) needsCheck() bool {
	d := &r.Decision
	switch {
	case d.State.Closed(): // a closed conversation stays closed
		return false
	case r.final:
		return false
	case d.Err != nil:
		return true
	case r.Cmd.From == parley.HubID:
		return false // the hub looks again later
	}
	switch r.Cmd.Do.(type) {
	case *fold.Delta, *fold.OfferAttachment:
		return false // readers compare deltas with the log; an offer is asked for again
	case *fold.Take, *fold.Renew:
		return true
	}
	return !d.Duplicate // a key that was found stays
}
