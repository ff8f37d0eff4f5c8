package hub

import (
	"errors"
	"sync"

	"github.com/parleyhub/parley/hub/internal/rule"
	"github.com/parleyhub/parley/hub/journal"
)

// A hub that shares its journal follows what others write to it, so that its readers are woken and its desks see every state. What it decides itself
// needs none of this: an append whose head has moved is decided again on what moved it.

// follower is how far a hub has followed.
type follower struct {
	mu      sync.Mutex // guards the fields below
	at      journal.Position
	changed chan struct{} // closed when at changes; nil when nobody waits
}

// follow reads the journal in commit order until the hub ends.
func (h *Hub) follow() {
	at := h.follower.at
	for {
		changed := h.journal.Watch()
		records, err := h.journal.Scan(at, 1000, 4<<20)
		if err != nil {
			h.log.Error("cannot follow the journal", "error", err)
			return
		}
		for _, r := range records {
			h.refresh(r.Conversation, r.Seq)
			at = r.Position
		}
		if len(records) > 0 {
			h.follower.move(at)
			continue
		}
		select {
		case <-changed:
		case <-h.ctx.Done():
			return
		}
	}
}

func (f *follower) move(at journal.Position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = at
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// look gives how far it has come, and what is closed when it comes further.
func (f *follower) look() (journal.Position, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.at, f.changed
}

// reach waits until a hub that shares its journal has followed it up to a position. It gives false when the hub is about to stop.
func (f *follower) reach(h *Hub, want journal.Position) bool {
	if !h.opts.shared || !rule.FreshRefuse.Holds() {
		return true
	}
	for {
		at, changed := f.look()
		if at >= want {
			return true
		}
		select {
		case <-changed:
		case <-h.draining:
			return false
		}
	}
}

// refresh reads a conversation that is behind a seq.
func (h *Hub) refresh(id string, seq int64) {
	if reserved(id) {
		return
	}
	c, err := h.pin(id)
	if err != nil {
		if !errors.Is(err, errDraining) {
			h.log.Error("cannot follow a conversation", "conversation", id, "error", err)
		}
		return
	}
	defer h.unpin(c)
	c.reached(seq)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seenLocked()
}

// freshen reads what others have added: what a caller is told, it is told on the head.
func (c *conversation) freshen() {
	if !c.hub.opts.shared || !rule.FreshRefuse.Holds() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freshenLocked()
}

// reached gives the last committed seq. Where another hub has committed a later one, it waits until that is seen here: cursors come from other hubs too.
func (c *conversation) reached(seq int64) int64 {
	for {
		c.mu.Lock()
		latest, changed := c.durable.Seq, c.changedLocked()
		beyond := seq > latest && !c.broken && c.hub.opts.shared && rule.FreshRefuse.Holds()
		c.mu.Unlock()
		if !beyond {
			return latest
		}
		if head, err := c.hub.journal.Head(c.id); err != nil || head.Seq < seq {
			return latest
		}
		select {
		case <-changed:
		case <-c.hub.draining:
			return latest
		}
	}
}

// freshenLocked reads what others have added, if there is anything. With appends of its own under way the hub learns of it by their outcome.
func (c *conversation) freshenLocked() {
	if len(c.pending) > 0 || c.reloading || c.broken || !c.isBehindLocked() {
		return
	}
	if err := c.catchUpLocked(); err != nil {
		c.broken = true
		c.hub.log.Error("cannot read a conversation that another hub has written to", "conversation", c.id, "error", err)
	}
	c.wakeLocked()
	c.seenLocked()
}

// seenLocked shows the state to who watches time, hands out turns and tells of changes.
func (c *conversation) seenLocked() {
	if c.broken {
		return
	}
	c.hub.clock.set(c.id, c.durable.Wakes())
	c.hub.turns.saw(c.id, &c.durable)
	c.tellChangeLocked()
}

// tellChangeLocked shows watchers that there is a newer state, once: a hub that shares its journal meets its own commits again.
func (c *conversation) tellChangeLocked() {
	if c.durable.Seq > c.toldSeq {
		c.toldSeq = c.durable.Seq
		c.hub.changes.saw(c.id)
	}
}

// isBehindLocked reports whether another hub has written since.
func (c *conversation) isBehindLocked() bool {
	head, err := c.hub.journal.Head(c.id)
	return err == nil && head.Seq > c.head.Seq
}

// refusesStillLocked reports whether a refusal that has rested on appends of this hub's own can be given: another hub's event may already lie behind
// them. Then it is decided again, at once or when what is under way has come back.
func (c *conversation) refusesStillLocked(o *op) bool {
	switch {
	case !c.isBehindLocked():
		return true
	case len(c.pending) > 0:
		o.decision.RestsOn = c.head.Seq
		c.waiting = append(c.waiting, o)
		return false
	}
	return c.decideLocked(o)
}
