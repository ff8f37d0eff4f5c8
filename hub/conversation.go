package hub

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/journal"
)

// conversation is one conversation in memory. It may stand for one that does not exist yet (or never will): then
// its states have Seq 0.
type conversation struct {
	hub       *Hub
	id        string
	frameHead []byte // of every event's frame

	place  int // in hub.unused, or inUse; guarded by hub.mu, as are the next three
	pins   int // who uses it; it is dropped only at 0
	usedAt time.Time
	size   size // as of when it was given back last

	load    sync.Once
	loadErr error

	committedSeq atomic.Int64 // that of durable, for whoever does not wait for mu

	mu sync.Mutex // guards the fields below
	// head is the state after everything decided, keys its keys; durable is the state after everything committed, and
	// hash its hash.
	head    fold.State
	keys    fold.Keys
	durable fold.State
	hash    journal.Hash
	// headHash is the hash of head while something is pending; only a hub that shares its journal keeps it.
	headHash journal.Hash

	asked     int64 // counts ops, to keep their order
	pending   []*op // submitted, in order
	waiting   []*op // decided without events, resting on pending ones
	retry     []*op // to be decided once the state was read anew
	reloading bool
	broken    bool // a reload failed; it is dropped once nobody uses it, and then loaded anew

	frames     []frame // the last committed events, up to durable.Seq, without gap
	frameBytes int
	shown      *shown        // of durable, if a reader has looked at it
	changed    chan struct{} // closed by the next change; nil when nobody waits
	deltas     []delta
	deltaCount int64 // deltas ever passed; deltas holds the last of them
	deltaBytes int   // of the text of deltas
	audience   []*Subscription

	notifiedSeq int64   // the last state that observers were notified of, except on loads
	savedSeq    int64   // of the state that was kept last
	settled     settled // of the keys, as they were kept
}

// pin finds or loads a conversation and keeps it in memory until unpin. It fails when the hub drains.
func (h *Hub) pin(id string) (*conversation, error) {
	h.mu.Lock()
	if h.drained {
		h.mu.Unlock()
		return nil, errDraining
	}
	c := h.loaded[id]
	if c == nil {
		c = &conversation{hub: h, id: id, frameHead: frameHead(id), place: inUse}
		h.loaded[id] = c
	}
	c.pins++
	h.unused.remove(c)
	h.mu.Unlock()

	c.load.Do(c.fill)
	if c.loadErr != nil {
		h.unpin(c)
		return nil, c.loadErr
	}
	c.freshen()
	return c, nil
}

// find pins a conversation that exists for p. A writer sees what was decided, a reader what was committed; who only reads it, by a workspace, is no writer.
func (h *Hub) find(p *Principal, id string, writes bool) (*conversation, error) {
	if !p.reaches(id) {
		return nil, errNotFound
	}
	c, err := h.look(p, id, writes)
	if !h.doubtful(err) {
		return c, err
	}
	if err := h.catchUp(context.Background()); err != nil {
		return nil, err
	}
	return h.look(p, id, writes)
}

// look is find that does not care whether the hub is behind others.
func (h *Hub) look(p *Principal, id string, writes bool) (*conversation, error) {
	c, err := h.pin(id)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	reads, sees := p.reads(&c.durable) || (writes && p.reads(&c.head)), p.sees(&c.durable) || (writes && p.sees(&c.head))
	c.mu.Unlock()
	switch {
	case !reads:
		err = errNotFound
	case writes && !sees:
		err = errReadsOnly
	}
	if err != nil {
		h.unpin(c)
		return nil, err
	}
	return c, nil
}

// fill loads the conversation: the kept state, if it is of use, and the events after it; else all events.
func (c *conversation) fill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loadSavedLocked()
	err := c.catchUpLocked()
	if err != nil && c.savedSeq > 0 {
		c.hub.log.Warn("a kept state does not fit the log", "conversation", c.id, "error", err)
		c.durable, c.keys, c.savedSeq, c.settled = fold.State{}, fold.Keys{}, 0, settled{}
		c.frames, c.frameBytes = nil, 0
		err = c.catchUpLocked()
	}
	if err != nil {
		c.loadErr = err
		c.hub.log.Error("cannot load a conversation", "conversation", c.id, "error", err)
		return
	}
	c.notifyLocked(loadedOnUse)
}

// catchUpLocked reads what the journal has beyond durable and makes head the same. Nothing may be pending.
func (c *conversation) catchUpLocked() error {
	head, err := c.hub.journal.Head(c.id)
	if err != nil {
		return fmt.Errorf("head of %s: %w", c.id, err)
	}
	for moved := true; moved; moved = head.Seq > c.durable.Seq {
		if err := c.readLocked(head.Seq, head.Seq-keepFrames); err != nil { // older frames would be dropped again
			return err
		}
		if c.durable.Seq < head.Seq {
			return fmt.Errorf("head of %s is %d after reading %d", c.id, head.Seq, c.durable.Seq)
		}
		if head, err = c.hub.journal.Head(c.id); err != nil { // it may have moved since
			return fmt.Errorf("head of %s: %w", c.id, err)
		}
	}
	if head.Seq != c.durable.Seq {
		return fmt.Errorf("head of %s is %d after reading %d", c.id, head.Seq, c.durable.Seq)
	}
	c.hash, c.head = head.Hash, c.durable
	c.committedSeq.Store(c.durable.Seq)
	return nil
}

// readLocked folds what the journal has beyond durable, up to a seq at least if it has that, and keeps the frames after another.
func (c *conversation) readLocked(to, from int64) error {
	for more := true; more; more = c.durable.Seq < to {
		records := c.hub.follower.next(c.id, c.durable.Seq)
		if len(records) == 0 {
			var err error
			if records, err = c.hub.journal.Read(c.id, c.durable.Seq, 1000, 4<<20); err != nil {
				return fmt.Errorf("read %s: %w", c.id, err)
			}
		}
		if len(records) == 0 {
			return nil
		}
		for _, r := range records {
			if err := c.takeLocked(r, r.Seq > from); err != nil {
				return fmt.Errorf("fold %s: %w", c.id, err)
			}
		}
	}
	return nil
}

// takeLocked folds one committed record, and keeps its frame or forgets all frames.
func (c *conversation) takeLocked(r journal.Record, keep bool) error {
	var e parley.Event
	if err := e.UnmarshalJSON(r.Data); err != nil {
		return err
	}
	if c.durable.ID == "" {
		c.durable.ID = c.id
	}
	var claim *fold.ClaimHash
	if now := c.durable.Claim; now != nil && now.AgentID == e.From {
		claim = &now.Hash
	}
	next, err := c.durable.Apply(&e, len(r.Data))
	if err != nil {
		return err
	}
	ids, entry := fold.KeysOf(&e, claim)
	for _, id := range ids {
		c.keys.Put(id, entry)
	}
	c.durable = next
	if !keep {
		c.frames, c.frameBytes = nil, 0
		return nil
	}
	c.pushLocked(newFrame(c.id, r.Data, e.Seq, fold.MetaOf(&e)))
	return nil
}

// Loaded counts the conversations in memory.
func (h *Hub) Loaded() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.loaded)
}
