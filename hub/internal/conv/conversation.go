package conv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/fold/idempotency"
	"github.com/parleyhub/parley/hub/journal"
)

// Conversation is a conversation in memory. It may represent one that does not exist yet, or never
// will; then its states have Seq 0.
type Conversation struct {
	engine *Engine
	id     string

	index  int // in engine.unused, or inUse; guarded by engine.mu, as are the next three
	pins   int // the number of users; it is dropped only at 0
	usedAt time.Time
	size   size // at the last Unpin

	load    sync.Once
	loadErr error

	committedSeq atomic.Int64 // durable.Seq, for readers that do not wait for mu

	mu sync.Mutex // guards the fields below
	// head is the state after all decided events, and keys are its keys. durable is the state after
	// all committed events, and hash its hash.
	head    fold.State
	keys    idempotency.Keys
	durable fold.State
	hash    journal.Hash

	queue     []*Request // not decided, because a round is full or reloading is set
	open      *round     // the round that the journal has not taken; nil: none
	flight    *round     // the round whose append the journal has not answered; nil: none
	reloading bool       // an append failed, and the conversation is not read again yet
	broken    bool       // a reload failed; the conversation is loaded again when no one uses it any more

	frames  frameCache   // up to durable.Seq
	shared  *sharedState // of durable, if a subscription has read it
	readers readers

	notifiedSeq int64   // the last state that observers were notified of, except on loads
	savedSeq    int64   // of the state that was saved last
	settled     settled // of the keys, as they were saved
}

// Pin finds or loads a conversation and keeps it in memory until Unpin. It fails with ErrDraining
// when the hub drains.
func (e *Engine) Pin(id string) (*Conversation, error) {
	select {
	case <-e.draining:
		return nil, ErrDraining
	default:
	}
	e.mu.Lock()
	c := e.loaded[id]
	if c == nil {
		c = &Conversation{engine: e, id: id, index: inUse}
		e.loaded[id] = c
	}
	c.pins++
	e.unused.remove(c)
	e.mu.Unlock()

	c.load.Do(c.fill)
	if c.loadErr != nil {
		e.Unpin(c)
		return nil, c.loadErr
	}
	c.Freshen()
	return c, nil
}

// Repin adds a pin to a conversation that is pinned.
func (e *Engine) Repin(c *Conversation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c.pins++
}

// find returns a conversation that is in memory, or nil. It does not pin it.
func (e *Engine) find(id string) *Conversation {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.loaded[id]
}

// ErrUnread is wrapped by the error of StateOf for a conversation that cannot be read.
var ErrUnread = errors.New("the conversation cannot be read")

// StateOf returns the committed state of a conversation. The zero State means that it does not exist.
func (e *Engine) StateOf(id string) (fold.State, error) {
	c, err := e.Pin(id)
	if err != nil && !errors.Is(err, ErrDraining) {
		err = fmt.Errorf("%w: %w", ErrUnread, err)
	}
	if err != nil {
		return fold.State{}, err
	}
	defer e.Unpin(c)
	return c.Durable(), nil
}

// ID is the id of the conversation.
func (c *Conversation) ID() string { return c.id }

// Durable returns the committed state.
func (c *Conversation) Durable() fold.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.durable
}

// DurableHash returns the committed state and the hash of its last event.
func (c *Conversation) DurableHash() (fold.State, journal.Hash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.durable, c.hash
}

// Head returns the state after all decided events, of which some may not be durable.
func (c *Conversation) Head() fold.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.head
}

// View calls f with the committed state and the head. The conversation is locked during the call, so
// f must not block, keep the states, or use the conversation.
func (c *Conversation) View(f func(durable, head *fold.State)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.durable, &c.head)
}

// HasKey reports whether a participant used a key, under a claim if claim is not nil.
func (c *Conversation) HasKey(agentID, key string, claim *eventdata.ClaimHash) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.keys.Find(idempotency.NewKeyID(agentID, key, claim))
	return ok
}

// Look returns the committed state and a channel that the next change closes. It fails if the
// conversation cannot be read.
func (c *Conversation) Look() (s fold.State, changed <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken {
		err = errBroken
	}
	return c.durable, c.readers.awaitChange(), err
}

// Reached returns the seq of the last committed event. If seq is later, a hub that shares its journal
// catches up first, because cursors come from other hubs too.
func (c *Conversation) Reached(ctx context.Context, seq int64) (latest int64, err error) {
	c.mu.Lock()
	latest = c.durable.Seq
	c.mu.Unlock()
	if seq <= latest || !c.engine.Shared() {
		return latest, nil
	}
	if err := c.engine.CatchUp(ctx); err != nil {
		return latest, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freshenLocked()
	return c.durable.Seq, nil
}

// FreshHead returns the head after this hub has caught up with the others.
func (c *Conversation) FreshHead() (fold.State, error) {
	if err := c.engine.CatchUp(context.Background()); err != nil {
		return fold.State{}, err
	}
	c.Freshen()
	return c.Head(), nil
}

// fill loads the conversation: the saved state, if it is usable, and the events after it.
func (c *Conversation) fill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, keys := loadSaved(c.engine.journal, c.id); s != nil {
		c.durable, c.keys, c.savedSeq, c.settled = s.state, keys, s.state.Seq, s.settled
	}
	err := c.catchUpLocked()
	if err != nil && c.savedSeq > 0 {
		c.engine.log.Warn("a saved state does not fit the log", "conversation", c.id, "error", err)
		c.durable, c.keys, c.savedSeq, c.settled = fold.State{}, idempotency.Keys{}, 0, settled{}
		c.frames = frameCache{}
		err = c.catchUpLocked()
	}
	if err != nil {
		c.loadErr = err
		c.engine.log.Error("cannot load a conversation", "conversation", c.id, "error", err)
		return
	}
	c.notifyLocked(LoadedOnUse)
}

// catchUpLocked reads the events of the journal after durable and makes head the same. No round may
// be in flight, except one that is lost.
func (c *Conversation) catchUpLocked() error {
	head, err := c.engine.journal.Head(c.id)
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
		if head, err = c.engine.journal.Head(c.id); err != nil { // it may have moved since
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

// readLocked folds the events of the journal after durable, at least to a seq if the journal has it,
// and keeps the frames of the events after from.
func (c *Conversation) readLocked(to, from int64) error {
	for more := true; more; more = c.durable.Seq < to {
		var records []journal.Record
		if f := c.engine.parts.Freshness; f != nil {
			records = f.Scanned(c.id, c.durable.Seq)
		}
		if len(records) == 0 {
			var err error
			if records, err = c.engine.journal.Read(c.id, c.durable.Seq, 1000, 4<<20); err != nil {
				return fmt.Errorf("read %s: %w", c.id, err)
			}
		}
		if len(records) == 0 {
			return nil
		}
		for _, r := range records {
			if err := c.applyLocked(r, r.Seq > from); err != nil {
				return fmt.Errorf("fold %s: %w", c.id, err)
			}
		}
	}
	return nil
}

// applyLocked folds one committed record. It keeps the frame, or drops all frames.
func (c *Conversation) applyLocked(r journal.Record, keep bool) error {
	var e parley.Event
	if err := e.UnmarshalJSON(r.Data); err != nil {
		return err
	}
	if c.durable.ID == "" {
		c.durable.ID = c.id
	}
	var claim *eventdata.ClaimHash
	if now := c.durable.Claim; now != nil && now.AgentID == e.From {
		claim = &now.Hash
	}
	next, err := c.durable.Apply(&e, len(r.Data))
	if err != nil {
		return err
	}
	ids, entry := idempotency.KeysOf(&e, claim)
	for _, id := range ids {
		c.keys.Put(id, entry)
	}
	c.durable = next
	if !keep {
		c.frames = frameCache{}
		return nil
	}
	c.frames.push(newFrame(c.id, r.Data, e.Seq, eventdata.MetaOf(&e)))
	return nil
}

// StateAt folds the events of a conversation up to a seq, which the journal must have.
func StateAt(ctx context.Context, log journal.Journal, id string, seq int64) (fold.State, error) {
	s := fold.State{ID: id}
	for s.Seq < seq {
		if ctx.Err() != nil {
			return s, ctx.Err()
		}
		records, err := log.Read(id, s.Seq, int(min(seq-s.Seq, 1000)), 4<<20)
		if err != nil {
			return s, fmt.Errorf("read %s: %w", id, err)
		}
		for _, r := range records {
			var event parley.Event
			if err := event.UnmarshalJSON(r.Data); err != nil {
				return s, err
			}
			if s, err = s.Apply(&event, len(r.Data)); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

// Changed is Look with only the seq of the last committed event.
func (c *Conversation) Changed() (latest int64, changed <-chan struct{}, err error) {
	s, changed, err := c.Look()
	return s.Seq, changed, err
}

// Recent returns the committed state, and the last events before it that are in memory.
func (c *Conversation) Recent() (fold.State, []Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frames.readAt = c.durable.Seq
	return c.durable, slices.Clone(c.frames.all)
}
