package hub

import (
	"bytes"
	"container/list"
	"encoding/gob"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/plant"
)

// conversation is one conversation in memory. It may stand for one that does not exist yet (or never will): then
// its states have Seq 0.
type conversation struct {
	hub       *Hub
	id        string
	frameHead []byte // of every event's frame

	elem   *list.Element // in hub.unused, nil while somebody uses it; guarded by hub.mu, as are the next three
	pins   int           // who uses it; it is dropped only at 0
	usedAt time.Time
	size   int // about the bytes that it holds, as of usedAt

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
	savedSeq   int64
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
		c = &conversation{hub: h, id: id, frameHead: frameHead(id)}
		h.loaded[id] = c
	}
	c.pins++
	if c.elem != nil {
		h.removeUnusedLocked(c)
	}
	h.mu.Unlock()

	c.load.Do(c.fill)
	if c.loadErr != nil {
		h.unpin(c)
		return nil, c.loadErr
	}
	c.freshen()
	return c, nil
}

// unpin gives a conversation back. One that does not exist or could not be loaded is dropped at once.
func (h *Hub) unpin(c *conversation) {
	c.mu.Lock()
	keep := c.loadErr == nil && !c.broken && c.head.Exists()
	size := conversationBytes + c.frameBytes + keyBytes*len(c.keys) + attachmentBytes*len(c.head.Attachments)
	c.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.pins--; c.pins > 0 {
		return
	}
	if !keep {
		delete(h.loaded, c.id)
		return
	}
	c.usedAt, c.size = time.Now(), size
	c.elem = h.unused.PushFront(c)
	h.unusedBytes += size
	if h.crowdedLocked() {
		select {
		case h.crowded <- struct{}{}:
		default: // the sweeper knows
		}
	}
}

// What a conversation in memory costs, about: itself, and each of its keys and attachments.
const (
	conversationBytes = 4 << 10
	keyBytes          = 96
	attachmentBytes   = 48
)

func (h *Hub) removeUnusedLocked(c *conversation) {
	h.unused.Remove(c.elem)
	h.unusedBytes -= c.size
	c.elem = nil
}

// crowdedLocked reports whether more is kept that nobody uses than there should be.
func (h *Hub) crowdedLocked() bool {
	return h.unused.Len() > h.opts.MaxLoaded || h.unusedBytes > h.opts.MaxLoadedBytes
}

// find pins a conversation that exists for p. A writer sees what was decided, a reader what was committed.
func (h *Hub) find(p *Principal, id string, writes bool) (*conversation, error) {
	if !p.reaches(id) {
		return nil, errNotFound
	}
	c, err := h.pin(id)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	seen := p.sees(&c.durable) || (writes && p.sees(&c.head))
	c.mu.Unlock()
	if !seen {
		h.unpin(c)
		return nil, errNotFound
	}
	return c, nil
}

// saved is what is kept of a conversation's state. It is derived: losing it costs time only.
type saved struct {
	Version int
	State   fold.State
	Keys    fold.Keys
}

// fill loads the conversation: the kept state, if it is of use, and the events after it; else all events.
func (c *conversation) fill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loadSavedLocked()
	err := c.catchUpLocked()
	if err != nil && c.savedSeq > 0 {
		c.hub.log.Warn("a kept state does not fit the log", "conversation", c.id, "error", err)
		c.durable, c.keys, c.savedSeq = fold.State{}, make(fold.Keys), 0
		c.frames, c.frameBytes = nil, 0
		err = c.catchUpLocked()
	}
	if err != nil {
		c.loadErr = err
		c.hub.log.Error("cannot load a conversation", "conversation", c.id, "error", err)
	}
}

// loadSavedLocked begins with the state that was kept, if it is one that this version has written.
func (c *conversation) loadSavedLocked() {
	c.keys = make(fold.Keys)
	seq, raw, err := c.hub.journal.LoadState(c.id)
	if err != nil || raw == nil {
		return
	}
	var s saved
	err = gob.NewDecoder(bytes.NewReader(raw)).Decode(&s)
	if err != nil || s.Version != fold.Version || s.State.Seq != seq || s.State.ID != c.id {
		return
	}
	c.durable, c.savedSeq = s.State, seq
	if s.Keys != nil {
		c.keys = s.Keys
	}
}

// catchUpLocked reads what the journal has beyond durable and makes head the same. Nothing may be pending.
func (c *conversation) catchUpLocked() error {
	head, err := c.hub.journal.Head(c.id)
	if err != nil {
		return fmt.Errorf("head of %s: %w", c.id, err)
	}
	for moved := true; moved; moved = head.Seq > c.durable.Seq {
		if err := c.readLocked(head.Seq - keepFrames); err != nil { // older frames would be dropped again
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

// readLocked folds what the journal has beyond durable, and keeps the frames after a seq.
func (c *conversation) readLocked(from int64) error {
	for {
		records, err := c.hub.journal.Read(c.id, c.durable.Seq, 1000, 4<<20)
		if err != nil {
			return fmt.Errorf("read %s: %w", c.id, err)
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
	if plant.KeysForgotten.Planted() {
		ids = nil
	}
	for _, id := range ids {
		c.keys[id] = entry
	}
	if plant.GuidanceOfOwn.Planted() {
		next.Choice = nil
	}
	c.durable = next
	if !keep {
		c.frames, c.frameBytes = nil, 0
		return nil
	}
	c.pushLocked(newFrame(c.id, r.Data, e.Seq, fold.MetaOf(&e)))
	return nil
}

// save keeps the state if that saves work. The conversation is not in use.
func (c *conversation) save() {
	c.mu.Lock()
	s := saved{Version: fold.Version, State: c.durable, Keys: c.keys}
	due := c.loadErr == nil && !c.broken && !c.reloading && c.durable.Seq-c.savedSeq >= 64
	c.mu.Unlock()
	if !due {
		return
	}
	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).Encode(&s); err != nil {
		c.hub.log.Error("cannot encode a state", "conversation", c.id, "error", err)
		return
	}
	if err := c.hub.journal.SaveState(c.id, s.State.Seq, buf.Bytes()); err != nil && !errors.Is(err, journal.ErrClosed) {
		c.hub.log.Warn("cannot keep a state", "conversation", c.id, "error", err)
	}
}

// sweep drops conversations that nobody uses: those idle for long, and the longest unused when there are too many.
func (h *Hub) sweep() {
	ticker := time.NewTicker(max(h.opts.IdleEvict/10, 10*time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-ticker.C:
			h.files.dropIdle()
		case <-h.crowded:
		}
		for _, c := range h.takeUnused() {
			c.save()
		}
	}
}

// takeUnused takes conversations that should be dropped out of the map.
func (h *Hub) takeUnused() []*conversation {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []*conversation
	idle := time.Now().Add(-h.opts.IdleEvict)
	for e := h.unused.Back(); e != nil; e = h.unused.Back() {
		c := e.Value.(*conversation)
		if c.usedAt.After(idle) && !h.crowdedLocked() {
			break
		}
		h.removeUnusedLocked(c)
		delete(h.loaded, c.id)
		out = append(out, c)
	}
	return out
}

// saveAll keeps the states of all conversations when the hub stops.
func (h *Hub) saveAll() {
	h.mu.Lock()
	var all []*conversation
	for _, c := range h.loaded {
		all = append(all, c)
	}
	h.mu.Unlock()
	for _, c := range all {
		c.save()
	}
}

// Loaded counts the conversations in memory.
func (h *Hub) Loaded() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.loaded)
}
