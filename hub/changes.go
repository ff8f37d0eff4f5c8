package hub

import (
	"sync"

	"github.com/parleyhub/parley/hub/internal/conv"
)

// maxChanged bounds the conversations of which it is known when they have changed last.
const maxChanged = 10_000

// changes know which conversations have changed last, in that order. They are no part of the log, and begin empty with each start: then all cursors of before say
// nothing. What an entry costs is bounded, and nothing is allocated for a conversation that has one.
type changes struct {
	epoch func() string // that of this start, made when it is first asked for

	mu      sync.Mutex // guards the fields below
	count   int64      // changes so far
	lost    int64      // the last of them whose conversation was forgotten
	entries map[string]*changed
	newest  *changed
	oldest  *changed
	next    chan struct{} // closed by the next change; nil when nobody waits
}

// changed is a conversation, by its last change.
type changed struct {
	id           string
	number       int64
	older, newer *changed
}

func newChanges(newID func(prefix string) string) *changes {
	return &changes{epoch: sync.OnceValue(func() string { return newID("e") }), entries: make(map[string]*changed)}
}

// committed makes the conversation the one that changed last. A hub with peers reads its own commits
// again, which is no change.
func (c *changes) Committed(now conv.Commit) {
	if now.IsNew {
		c.note(now.ID)
	}
}

// note makes a conversation the one that changed last, and wakes who waits for a change.
func (c *changes) note(id string) {
	if conv.Reserved(id) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	e := c.entries[id]
	if e == nil {
		e = c.entryLocked(id)
	}
	e.number = c.count
	if e != c.newest {
		c.takeOutLocked(e)
		c.putLocked(e)
	}
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
}

// entryLocked makes an entry, of the oldest one where there are enough.
func (c *changes) entryLocked(id string) *changed {
	e := &changed{}
	if len(c.entries) >= maxChanged {
		e = c.oldest
		c.lost = e.number
		c.takeOutLocked(e)
		delete(c.entries, e.id)
	}
	e.id = id
	c.entries[id] = e
	return e
}

// takeOutLocked takes an entry out of the order, if it is there.
func (c *changes) takeOutLocked(e *changed) {
	if e.older != nil {
		e.older.newer = e.newer
	} else if c.oldest == e {
		c.oldest = e.newer
	}
	if e.newer != nil {
		e.newer.older = e.older
	} else if c.newest == e {
		c.newest = e.older
	}
	e.older, e.newer = nil, nil
}

// putLocked makes an entry the newest.
func (c *changes) putLocked(e *changed) {
	e.older = c.newest
	if c.newest != nil {
		c.newest.newer = e
	} else {
		c.oldest = e
	}
	c.newest = e
}

// change is a conversation and the number of its last change.
type change struct {
	id     string
	number int64
}

// after gives what has changed after a number, the longest ago first, at most limit of them; and what is closed by the next change. It gives false where that is not known any
// more.
func (c *changes) after(number int64, limit int) (found []change, more bool, next <-chan struct{}, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = make(chan struct{})
	}
	if number < c.lost {
		return nil, false, c.next, false
	}
	var e *changed // the first after number
	for at := c.newest; at != nil && at.number > number; at = at.older {
		e = at
	}
	for ; e != nil && len(found) < limit; e = e.newer {
		found = append(found, change{e.id, e.number})
	}
	return found, e != nil, c.next, true
}

// now gives the number of the last change.
func (c *changes) now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}
