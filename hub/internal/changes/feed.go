// Package changes records which conversations changed last, and has the method watchConversations. A
// [Feed] is an observer of the engine. It is in memory and starts empty, so cursors of an earlier start
// are reset.
//
// The package starts no goroutine. Feed.mu is taken after the mutex of a conversation. It is not held
// during a call to another package.
package changes

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"
	"github.com/parleyhub/parley/internal/methods"
)

// maxChanged bounds the number of conversations whose last change is known.
const maxChanged = 10_000

// summarizer returns the row of a conversation, or nil if it is not among those that p may list: of a
// workspace, or if that is empty those that p created or has a seat in.
type summarizer func(p *auth.Principal, workspace, id string) (*parley.ConversationSummary, error)

// Feed has the conversations in the order of their last changes. A change of a conversation that has an
// entry allocates nothing.
type Feed struct {
	engine    *conv.Engine
	auth      *auth.Service
	summarize summarizer
	epoch     func() string // the prefix of the cursors of this start

	mu      sync.Mutex // guards the fields below
	count   int64      // number of the last change
	lost    int64      // number of the last change whose entry was dropped
	entries map[string]*changed
	newest  *changed
	oldest  *changed
	next    chan struct{} // closed by the next change; nil while no caller waits
}

type changed struct {
	id           string
	number       int64
	older, newer *changed
}

// New returns an empty Feed. The engine notifies it of commits.
func New(e *conv.Engine, a *auth.Service, newID func(prefix string) string, summarize summarizer) *Feed {
	return &Feed{
		engine: e, auth: a, summarize: summarize, epoch: sync.OnceValue(func() string { return newID("e") }),
		entries: make(map[string]*changed),
	}
}

// Committed implements conv.Observer. A commit that a hub with peers reads again is not a change.
func (c *Feed) Committed(now conv.Commit) {
	if now.IsNew {
		c.note(now.ID)
	}
}

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

func (c *Feed) appendLocked(e *changed) {
	e.older = c.newest
	if c.newest != nil {
		c.newest.newer = e
	} else {
		c.oldest = e
	}
	c.newest = e
}

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

func (c *Feed) latest() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// gatherTime is how long a call that a change woke waits for more changes. It bounds how often a call reads
// the feed, at any rate of writes.
const gatherTime = 50 * time.Millisecond

// maxExamined bounds the conversations that one answer examines.
const maxExamined = 500

// Watch waits until a conversation changes that the caller may list, for at most TimeoutMs. It returns the
// conversations that changed since the cursor. A commit is a change; the registration of an executor is not.
func (f *Feed) Watch(
	ctx context.Context, p *auth.Principal, q *parley.WatchConversationsParams,
) (*parley.WatchConversationsResult, error) {
	if err := f.auth.Allow(p, methods.WatchConversations); err != nil {
		return nil, err
	}
	w, err := f.newWatch(p, q)
	if err != nil {
		return nil, err
	}
	timer, err := page.WaitTimer(q.TimeoutMs)
	if err != nil {
		return nil, err
	}
	defer timer.Stop()
	for timedOut := false; ; {
		if err := p.Valid(f.engine.Now()); err != nil {
			return nil, err
		}
		next, err := w.collect(ctx)
		if err != nil {
			return nil, err
		}
		if w.done() || timedOut {
			return w.result(timedOut && q.TimeoutMs > 0), nil
		}
		if timedOut, err = f.engine.Wait(ctx, p, next, timer, q.TimeoutMs); err != nil {
			return nil, err
		}
		if timedOut {
			continue
		}
		if timedOut, err = f.gather(ctx, p, timer); err != nil {
			return nil, err
		}
	}
}

// gather waits for gatherTime. It returns earlier if the caller, the timer or the hub ends the wait.
func (f *Feed) gather(ctx context.Context, p *auth.Principal, timer *time.Timer) (timedOut bool, err error) {
	moment := make(chan struct{})
	defer time.AfterFunc(gatherTime, func() { close(moment) }).Stop()
	return f.engine.Wait(ctx, p, moment, timer, gatherTime.Milliseconds())
}

type watch struct {
	feed      *Feed
	p         *auth.Principal
	workspace string
	limit     int
	number    int64 // of the last change that was examined
	first     bool  // there is no cursor: the call returns one
	out       parley.WatchConversationsResult
}

func (f *Feed) newWatch(p *auth.Principal, q *parley.WatchConversationsParams) (*watch, error) {
	limit, err := page.CheckLimit(q.Limit, page.MaxSummaries, page.PresetSummaries)
	if err != nil {
		return nil, err
	}
	w := &watch{feed: f, p: p, workspace: q.Workspace, limit: limit}
	w.out.Conversations = []parley.ConversationSummary{}
	if q.Workspace != "" {
		if err := p.CheckGrants(q.Workspace); err != nil {
			return nil, err
		}
	}
	if q.Cursor == "" {
		w.first, w.number = true, f.latest()
		return w, nil
	}
	epoch, number, ok := parseCursor(q.Cursor)
	switch latest := f.latest(); {
	case !ok || epoch == f.epoch() && number > latest:
		return nil, page.Invalid("cursor of an earlier answer", "cursor is not one of this hub's")
	case epoch != f.epoch():
		w.reset()
	default:
		w.number = number
	}
	return w, nil
}

// reset drops the cursor, because the changes since are not known.
func (w *watch) reset() {
	w.out.Reset, w.number = true, w.feed.latest()
}

// collect examines the changes after the last one that was examined. It returns a channel that the next
// change closes.
func (w *watch) collect(ctx context.Context) (next <-chan struct{}, err error) {
	if w.done() {
		return nil, nil
	}
	found, more, next, known := w.feed.after(w.number, maxExamined)
	if !known {
		w.reset()
		return next, nil
	}
	w.out.More = more
	for i, c := range found {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		summary, err := w.feed.summarize(w.p, w.workspace, c.id)
		if err != nil {
			return nil, err
		}
		w.number = c.number
		if summary == nil {
			continue
		}
		w.out.Conversations = append(w.out.Conversations, *summary)
		if len(w.out.Conversations) == w.limit {
			w.out.More = more || i < len(found)-1
			break
		}
	}
	return next, nil
}

func (w *watch) done() bool {
	return w.first || w.out.Reset || w.out.More || len(w.out.Conversations) > 0
}

func (w *watch) result(timedOut bool) *parley.WatchConversationsResult {
	w.out.TimedOut = timedOut && !w.done()
	w.out.Cursor = w.feed.epoch() + cursorMark + strconv.FormatInt(w.number, 10)
	return &w.out
}

// cursorMark separates the epoch and the number of a cursor.
const cursorMark = "."

func parseCursor(cursor string) (epoch string, number int64, ok bool) {
	i := strings.LastIndex(cursor, cursorMark)
	if i < 0 {
		return "", 0, false
	}
	number, err := strconv.ParseInt(cursor[i+1:], 10, 64)
	return cursor[:i], number, err == nil && number >= 0
}
