package hub

import (
	"errors"
	"math/rand/v2"
	"time"
	"unsafe"

	"github.com/parleyhub/parley/hub/journal"
)

// unused are the conversations in memory that nobody uses. Guarded by hub.mu.
type unused struct {
	all  []*conversation // in no order; each knows its place
	size size            // of all
	hand int             // where the next frames are dropped
}

// inUse is the place of a conversation that is not among the unused.
const inUse = -1

// size is about the bytes that a conversation holds.
type size struct {
	total  int
	frames int // of total: what the journal has too, and gives at once
}

// What a conversation in memory costs, about: itself, and each of its frames, seats, attachments and approvals. An event is encoded into more room than it takes.
const (
	conversationBytes = 4 << 10
	frameExtraBytes   = int(unsafe.Sizeof(frame{})) + 192
	seatBytes         = 512
	attachmentBytes   = 48
	approvalBytes     = 320
)

func (c *conversation) sizeLocked() size {
	frames := c.frameBytes + frameExtraBytes*len(c.frames)
	state := len(c.head.Metadata) + seatBytes*len(c.head.Participants) + attachmentBytes*len(c.head.Attachments) + approvalBytes*len(c.head.Approvals)
	return size{total: conversationBytes + frames + state + c.keys.Size(), frames: frames}
}

func (u *unused) add(c *conversation) {
	c.place = len(u.all)
	u.all = append(u.all, c)
	u.size.total += c.size.total
	u.size.frames += c.size.frames
}

// remove takes a conversation out, if it is there.
func (u *unused) remove(c *conversation) {
	if c.place == inUse {
		return
	}
	u.all = takeOut(u.all, c, func(c *conversation) *int { return &c.place })
	u.size.total -= c.size.total
	u.size.frames -= c.size.frames
	c.place = inUse
}

// any gives one to drop: of two that are drawn, the one that was used longer ago. The longest unused of all would be a bad choice when conversations are used
// in turn and nearly all have room: each would be dropped just before it is used again.
func (u *unused) any() *conversation {
	a, b := u.all[rand.IntN(len(u.all))], u.all[rand.IntN(len(u.all))]
	if b.usedAt.Before(a.usedAt) {
		return b
	}
	return a
}

// next gives the next one that has frames.
func (u *unused) next() *conversation {
	for range u.all {
		u.hand = (u.hand + 1) % len(u.all)
		if c := u.all[u.hand]; c.size.frames > 0 {
			return c
		}
	}
	return nil
}

// unpin gives a conversation back. One that does not exist or could not be loaded is dropped at once.
func (h *Hub) unpin(c *conversation) {
	if h.putBack(c, time.Now()) {
		select {
		case h.crowded <- struct{}{}:
		default: // the sweeper knows
		}
	}
}

// putBack is unpin of a conversation that was used at a time; the zero time is none. It reports whether more is kept now than there should be.
func (h *Hub) putBack(c *conversation, usedAt time.Time) (crowded bool) {
	c.mu.Lock()
	keep := c.loadErr == nil && !c.broken && c.head.Exists()
	size := c.sizeLocked()
	c.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if usedAt.After(c.usedAt) {
		c.usedAt = usedAt
	}
	if c.pins--; c.pins > 0 {
		return false
	}
	if !keep {
		delete(h.loaded, c.id)
		return false
	}
	c.size = size
	h.unused.add(c)
	return h.overLocked(1)
}

// overLocked reports whether more is kept that nobody uses than there should be, or than so many times that.
func (h *Hub) overLocked(times float64) bool {
	return len(h.unused.all) > int(max(times, 1)*float64(h.opts.MaxLoaded)) || h.unused.size.total > int(times*float64(h.opts.MaxLoadedBytes))
}

// When the unused have no room, the sweeper makes some more of it than is needed. While they are far too many it saves no states: dropping must not be slower than loading.
const (
	enoughRoom = 31. / 32
	farTooMany = 5. / 4
)

// framesPart is which part of MaxLoadedBytes the frames may have when there is no room. They are dropped before conversations are: they come back at less cost.
const framesPart = 8

// sweep drops conversations that nobody uses: those idle for long, and some when there are too many.
func (h *Hub) sweep() {
	ticker := time.NewTicker(max(h.opts.IdleEvict/10, 10*time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-ticker.C:
			h.files.dropIdle()
			h.dropIdle()
		case <-h.crowded:
		}
		h.makeRoom()
	}
}

func (h *Hub) dropIdle() {
	since := time.Now().Add(-h.opts.IdleEvict)
	var idle []*conversation
	h.mu.Lock()
	for _, c := range h.unused.all {
		if !c.usedAt.After(since) {
			idle = append(idle, c)
		}
	}
	for _, c := range idle {
		h.takeLocked(c)
	}
	h.mu.Unlock()
	for _, c := range idle {
		if c.save(false) != nil {
			h.putBack(c, time.Time{}) // until the journal has room for its state
			continue
		}
		h.drop(c)
	}
}

// takeLocked is pin for the sweeper.
func (h *Hub) takeLocked(c *conversation) {
	h.unused.remove(c)
	c.pins++
}

// makeRoom drops frames, and then conversations, until there is room. They are in the way of nobody meanwhile: who wants one finds it until it is dropped.
func (h *Hub) makeRoom() {
	for times := 1.; h.ctx.Err() == nil; times = enoughRoom {
		h.mu.Lock()
		if len(h.unused.all) == 0 || !h.overLocked(times) {
			h.mu.Unlock()
			return
		}
		c, save := h.unused.any(), !h.overLocked(farTooMany)
		thin := len(h.unused.all) <= h.opts.MaxLoaded && h.unused.size.frames > h.opts.MaxLoadedBytes/framesPart
		if thin {
			c = h.unused.next()
		}
		h.takeLocked(c)
		h.mu.Unlock()
		if thin {
			c.dropFrames()
			h.putBack(c, time.Time{})
			continue
		}
		if save {
			_ = c.save(false) // a state that is not kept costs time only
		}
		h.drop(c)
	}
}

// dropFrames leaves the past to the journal. A conversation that somebody uses by now keeps its frames.
func (c *conversation) dropFrames() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 && len(c.audience) == 0 {
		c.frames, c.frameBytes = nil, 0
	}
}

// drop drops a conversation that the sweeper has taken, unless somebody uses it by now, who gives it back later.
func (h *Hub) drop(c *conversation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.pins--; c.pins == 0 {
		delete(h.loaded, c.id)
	}
}

// saveAllTime is how long a hub that stops waits for the journal to take states.
const saveAllTime = 3 * time.Second

// saveAll keeps the states of all conversations when the hub stops.
func (h *Hub) saveAll() {
	h.mu.Lock()
	var all []*conversation
	for _, c := range h.loaded {
		all = append(all, c)
	}
	h.mu.Unlock()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	end := time.Now().Add(saveAllTime)
	for _, c := range all {
		for errors.Is(c.save(true), journal.ErrOverloaded) && time.Now().Before(end) {
			<-again.C
		}
	}
}
