package conv

import (
	"errors"
	"math/rand/v2"
	"time"
	"unsafe"

	"github.com/parleyhub/parley/hub/journal"
)

// unused has the conversations in memory that have no pin. Engine.mu guards it.
type unused struct {
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
// approvals. An event is encoded into more room than it needs.
const (
	conversationBytes = 4 << 10
	frameExtraBytes   = int(unsafe.Sizeof(Frame{})) + 192
	seatBytes         = 512
	attachmentBytes   = 48
	approvalBytes     = 320
)

func (c *Conversation) sizeLocked() size {
	frames := c.frameBytes + frameExtraBytes*len(c.frames)
	state := len(c.head.Metadata) + seatBytes*len(c.head.Participants) +
		attachmentBytes*len(c.head.Attachments) + approvalBytes*len(c.head.Approvals)
	return size{total: conversationBytes + frames + state + c.keys.Size(), frames: frames}
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
	size := c.sizeLocked()
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
	return e.exceedsLocked(1)
}

// exceedsLocked reports whether the unused conversations exceed the bounds by a factor.
func (e *Engine) exceedsLocked(factor float64) bool {
	return len(e.unused.all) > int(max(factor, 1)*float64(e.opts.MaxLoaded)) ||
		e.unused.size.total > int(factor*float64(e.opts.MaxLoadedBytes))
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
		e.takeLocked(c)
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

// takeLocked pins an unused conversation for the sweeper.
func (e *Engine) takeLocked(c *Conversation) {
	e.unused.remove(c)
	c.pins++
}

// makeRoom drops frames, and then conversations, until the bounds are met. A caller can use a
// conversation until it is dropped.
func (e *Engine) makeRoom() {
	for factor := 1.; e.ctx.Err() == nil; factor = enoughRoom {
		e.mu.Lock()
		if len(e.unused.all) == 0 || !e.exceedsLocked(factor) {
			e.mu.Unlock()
			return
		}
		c, save := e.unused.victim(), !e.exceedsLocked(tooMany)
		thin := len(e.unused.all) <= e.opts.MaxLoaded && e.unused.size.frames > e.opts.MaxLoadedBytes/framesPart
		if thin {
			c = e.unused.nextWithFrames()
		}
		e.takeLocked(c)
		e.mu.Unlock()
		if thin {
			c.dropFrames()
			e.putBack(c, time.Time{})
			continue
		}
		if save {
			_ = c.save(false) // without a saved state the next load takes longer, nothing else
		}
		e.drop(c)
	}
}

// dropFrames drops the events in memory, unless the conversation is used again.
func (c *Conversation) dropFrames() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flight == nil && len(c.audience) == 0 {
		c.frames, c.frameBytes = nil, 0
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

// saveAll saves the states of all conversations.
func (e *Engine) saveAll() {
	e.mu.Lock()
	var all []*Conversation
	for _, c := range e.loaded {
		all = append(all, c)
	}
	e.mu.Unlock()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	end := time.Now().Add(saveAllTime)
	for _, c := range all {
		for errors.Is(c.save(true), journal.ErrOverloaded) && time.Now().Before(end) {
			<-again.C
		}
	}
}
