// Package changes records which conversations changed last, and has the method watchConversations. A
// [Feed] is an observer of the engine. It is in memory and starts empty, so cursors of an earlier start
// are reset.
//
// The package starts no goroutine. Feed.mu is taken after the mutex of a conversation. It is not held
// during a call to another package.
package changes

import (
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
)

// maxChanged bounds the number of conversations whose last change is known.
const maxChanged = 10_000

// Lister looks up the conversations that a caller may list.
type Lister interface {
	// Summarize returns the row of a conversation, or nil if it is not among those that p may list: of a
	// workspace, or if that is empty those that p created or has a seat in.
	Summarize(p *auth.Principal, workspace, id string) (*parley.ConversationSummary, error)
}

// Options are the parts of the hub that a Feed uses.
type Options struct {
	Engine *conv.Engine
	Auth   *auth.Service
	Lister Lister
	NewID  func(prefix string) string
}

// Feed has the conversations in the order of their last changes. A change of a conversation that has an
// entry allocates nothing.
type Feed struct {
	opts  Options
	epoch func() string // the prefix of the cursors of this start

	mu      sync.Mutex // guards the fields below
	count   int64      // number of the last change
	lost    int64      // number of the last change whose entry was dropped
	entries map[string]*changed
	newest  *changed
	oldest  *changed
	next    chan struct{} // closed by the next change; nil while no caller waits
}

// changed is the entry of a conversation in the list.
type changed struct {
	id           string
	number       int64
	older, newer *changed
}

// New returns an empty Feed. The engine notifies it of commits.
func New(o Options) *Feed {
	return &Feed{
		opts: o, epoch: sync.OnceValue(func() string { return o.NewID("e") }), entries: make(map[string]*changed),
	}
}

// Committed implements conv.Observer. A commit that a hub with peers reads again is not a change.
func (c *Feed) Committed(now conv.Commit) {
	if now.IsNew {
		c.note(now.ID)
	}
}

// note records a change of a conversation, and wakes the callers that wait for one.
func (c *Feed) note(id string) {
	if conv.Reserved(id) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	e := c.entries[id]
	if e == nil {
		e = c.addLocked(id)
	}
	e.number = c.count
	if e != c.newest {
		c.removeLocked(e)
		c.appendLocked(e)
	}
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
}

// addLocked returns an entry for a conversation. It reuses the oldest one if there are maxChanged.
func (c *Feed) addLocked(id string) *changed {
	e := &changed{}
	if len(c.entries) >= maxChanged {
		e = c.oldest
		c.lost = e.number
		c.removeLocked(e)
		delete(c.entries, e.id)
	}
	e.id = id
	c.entries[id] = e
	return e
}

// removeLocked removes an entry from the list, if it is in the list.
func (c *Feed) removeLocked(e *changed) {
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

// appendLocked adds an entry to the list as the newest.
func (c *Feed) appendLocked(e *changed) {
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

// after returns at most limit changes after a number, the oldest first, whether there are more, and a channel
// that the next change closes. known is false if an entry after number was dropped.
func (c *Feed) after(number int64, limit int) (found []change, more bool, next <-chan struct{}, known bool) {
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

// latest returns the number of the last change.
func (c *Feed) latest() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}
