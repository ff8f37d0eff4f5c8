package conv

import (
	"errors"
	"math/rand/v2"
	"time"
	"unsafe"

	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/idempotency"
	"github.com/parleyhub/parley/hub/journal"
)

// unused has the conversations in memory that have no pin. Engine.mu guards it.
type unused struct {
	maxLoaded, maxBytes int

	all  []*Conversation // unordered; each knows its index
	size size            // of all
	hand int             // where the next frames are dropped
}

// inUse is the index of a conversation that is not in unused.
const inUse = -1

// size is about the number of bytes that a conversation holds.
type size struct {
	total  int
	frames int // part of total: the events, which the journal has too
}

// The approximate cost of a conversation in memory, and of each of its frames, seats, attachments and
// approvals.
const (
	conversationBytes = 4 << 10
	frameExtraBytes   = int(unsafe.Sizeof(Frame{})) + 32
	seatBytes         = 512
	attachmentBytes   = 48
	approvalBytes     = 320
)

// sizeOf returns the size of a conversation with a head, its keys and its frames.
func sizeOf(head *fold.State, keys *idempotency.Keys, k *frameCache) size {
	frames := k.bytes + frameExtraBytes*len(k.all)
	state := len(head.Metadata) + seatBytes*len(head.Participants) +
		attachmentBytes*len(head.Attachments) + approvalBytes*len(head.Approvals)
	return size{total: conversationBytes + frames + state + keys.Size(), frames: frames}
}

func (u *unused) add(c *Conversation) {
	c.index = len(u.all)
	u.all = append(u.all, c)
	u.size.total += c.size.total
	u.size.frames += c.size.frames
}

// remove removes a conversation, if it is in unused.
func (u *unused) remove(c *Conversation) {
	if c.index == inUse {
		return
	}
	u.all = removeUnordered(u.all, c, func(c *Conversation) *int { return &c.index })
	u.size.total -= c.size.total
	u.size.frames -= c.size.frames
	c.index = inUse
}

// take removes a conversation and pins it for the sweeper.
func (u *unused) take(c *Conversation) {
	u.remove(c)
	c.pins++
}

// exceeds reports whether the conversations exceed the bounds by a factor.
func (u *unused) exceeds(factor float64) bool {
	return len(u.all) > int(max(factor, 1)*float64(u.maxLoaded)) ||
		u.size.total > int(factor*float64(u.maxBytes))
}

// removeUnordered removes one element of an unordered list whose elements know their index.
func removeUnordered[T any](list []*T, one *T, index func(*T) *int) []*T {
	i, last := *index(one), len(list)-1
	list[i] = list[last]
	*index(list[i]) = i
	list[last] = nil
	return list[:last]
}

// victim returns a conversation to evict: of two random ones, the one that was used longer ago. To
// evict the least recently used of all is bad if conversations are used in turn and nearly all fit:
// each would be evicted just before its next use.
func (u *unused) victim() *Conversation {
	a, b := u.all[rand.IntN(len(u.all))], u.all[rand.IntN(len(u.all))]
	if b.usedAt.Before(a.usedAt) {
		return b
	}
	return a
}

// nextWithFrames returns the next conversation that has frames, or nil.
func (u *unused) nextWithFrames() *Conversation {
	for range u.all {
		u.hand = (u.hand + 1) % len(u.all)
		if c := u.all[u.hand]; c.size.frames > 0 {
			return c
		}
	}
	return nil
}

// Unpin ends one use of a conversation. A conversation that does not exist or could not be loaded is
// dropped at once.
func (e *Engine) Unpin(c *Conversation) {
	if e.putBack(c, time.Now()) {
		select {
		case e.crowded <- struct{}{}:
		default: // the sweeper is notified already
		}
	}
}

// putBack is Unpin for a conversation that was used at a time; the zero time means no use. It reports
// whether more conversations are unused than may stay in memory.
func (e *Engine) putBack(c *Conversation, usedAt time.Time) (crowded bool) {
	c.mu.Lock()
	keep := c.loadErr == nil && !c.broken && c.head.Exists()
	size := sizeOf(&c.head, &c.keys, &c.frames)
	c.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if usedAt.After(c.usedAt) {
		c.usedAt = usedAt
	}
	if c.pins--; c.pins > 0 {
		return false
	}
	if !keep {
		delete(e.loaded, c.id)
		return false
	}
	c.size = size
	e.unused.add(c)
	return e.unused.exceeds(1)
}

const (
	// enoughRoom is the factor of the bounds down to which the sweeper evicts.
	enoughRoom = 31. / 32
	// tooMany is the factor above which the sweeper saves no states, so that eviction is not slower
	// than loading.
	tooMany = 5. / 4
	// framesPart is the part of MaxLoadedBytes that frames may use when there is no room. They are
	// dropped before conversations, because they are cheaper to read again.
	framesPart = 8
)

// sweep evicts unused conversations: those that are idle for long, and some when there are too many.
func (e *Engine) sweep() {
	ticker := time.NewTicker(max(e.opts.IdleEvict/10, 10*time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-ticker.C:
			e.evictIdle()
		case <-e.crowded:
		}
		e.makeRoom()
	}
}

func (e *Engine) evictIdle() {
	since := time.Now().Add(-e.opts.IdleEvict)
	var idle []*Conversation
	e.mu.Lock()
	for _, c := range e.unused.all {
		if !c.usedAt.After(since) {
			idle = append(idle, c)
		}
	}
	for _, c := range idle {
		e.unused.take(c)
	}
	e.mu.Unlock()
	for _, c := range idle {
		if c.save(false) != nil {
			e.putBack(c, time.Time{}) // until the journal has room for its state
			continue
		}
		e.drop(c)
	}
}

// makeRoom drops frames, and then conversations, until the bounds are met. A caller can use a
// conversation until it is dropped.
func (e *Engine) makeRoom() {
	for factor := 1.; e.ctx.Err() == nil; factor = enoughRoom {
		e.mu.Lock()
		u := &e.unused
		if len(u.all) == 0 || !u.exceeds(factor) {
			e.mu.Unlock()
			return
		}
		c, save := u.victim(), !u.exceeds(tooMany)
		thin := len(u.all) <= u.maxLoaded && u.size.frames > u.maxBytes/framesPart
		if thin {
			c = u.nextWithFrames()
		}
		u.take(c)
		e.mu.Unlock()
		if thin {
			c.mu.Lock()
			if c.isIdleLocked() && len(c.readers.subscriptions) == 0 { // else it is used again
				c.frames = frameCache{}
			}
			c.mu.Unlock()
			e.putBack(c, time.Time{})
			continue
		}
		if save {
			_ = c.save(false) // without a saved state the next load takes longer, nothing else
		}
		e.drop(c)
	}
}

// drop releases the sweeper's pin and removes the conversation from memory, unless a caller uses it
// again.
func (e *Engine) drop(c *Conversation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c.pins--; c.pins == 0 {
		delete(e.loaded, c.id)
	}
}

// saveAllTime is how long Close waits for the journal to take the states.
const saveAllTime = 3 * time.Second

// saveAll saves the states of conversations.
func saveAll(all []*Conversation) {
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	end := time.Now().Add(saveAllTime)
	for _, c := range all {
		for errors.Is(c.save(true), journal.ErrOverloaded) && time.Now().Before(end) {
			<-again.C
		}
	}
}
