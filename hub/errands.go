package hub

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
)

// maxErrands bounds the errands that are run at once.
const maxErrands = 8

// errands look after conversations: do is called for each that was added, after it was added, and never twice at once for one. What do finds is a state and not
// an event, so that an errand that is run twice, or again after a crash, does nothing more.
type errands struct {
	hub   *Hub
	do    func(id string) error
	alarm *conv.Clock   // those to be tried again
	kick  chan struct{} // one slot: something was added
	slots chan struct{}

	mu    sync.Mutex // guards the fields below
	queue []string
	under map[string]bool // queued or under way; true: to be run once more
}

func newErrands(h *Hub, do func(id string) error) *errands {
	e := &errands{
		hub: h, do: do, kick: make(chan struct{}, 1), slots: make(chan struct{}, maxErrands), under: make(map[string]bool),
	}
	e.alarm = conv.NewClock(h.conv, e.add)
	return e
}

// add has a conversation looked after. It does not wait, and takes no lock of the hub's.
func (e *errands) add(id string) {
	e.mu.Lock()
	_, under := e.under[id]
	e.under[id] = under
	if !under {
		e.queue = append(e.queue, id)
	}
	e.mu.Unlock()
	select {
	case e.kick <- struct{}{}:
	default: // a kick is there already
	}
}

// Between the moment at which a hub finds out what another one has written, and that at which it looks whether that one has done what follows.
const (
	foreignPause  = 500 * time.Millisecond
	foreignJitter = 500 * time.Millisecond
)

// due is add for what was found in a state that was committed here or, foreign, by another hub: that one is given time to look after it, so that not all do at once.
func (e *errands) due(id string, foreign bool) {
	if !foreign {
		e.add(id)
		return
	}
	e.alarm.Set(id, parley.TimestampOf(e.hub.Now().Add(foreignPause+rand.N(foreignJitter))))
}

// run hands the errands out until the hub ends.
func (e *errands) run() {
	for {
		select {
		case <-e.hub.conv.Context().Done():
			return
		case <-e.kick:
		}
		for id := e.next(); id != ""; id = e.next() {
			select {
			case <-e.hub.conv.Context().Done():
				return
			case e.slots <- struct{}{}:
			}
			e.hub.conv.Go(func() {
				defer func() { <-e.slots }()
				e.attend(id)
			})
		}
	}
}

func (e *errands) next() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) == 0 {
		return ""
	}
	id := e.queue[0]
	if e.queue = e.queue[1:]; len(e.queue) == 0 {
		e.queue = nil
	}
	return id
}

// attend runs an errand, and once more if it was added meanwhile. When the hub drains it is left to the next start, which looks after all.
func (e *errands) attend(id string) {
	for again := true; again; {
		e.mu.Lock()
		e.under[id] = false
		e.mu.Unlock()
		if e.hub.conv.Begin() == nil {
			if err := e.do(id); err != nil && e.hub.Err() == nil {
				e.hub.log.Debug("an errand is tried again", "conversation", id, "error", err)
				e.alarm.Set(id, parley.TimestampOf(e.hub.Now().Add(pauseAfter(err))))
			}
			e.hub.conv.End()
		}
		e.mu.Lock()
		again = e.under[id]
		if !again {
			delete(e.under, id)
		}
		e.mu.Unlock()
	}
}

// pauseAfter is how long an errand that has failed waits.
func pauseAfter(err error) time.Duration {
	if errors.Is(err, conv.ErrUnread) {
		return conv.RetryRead
	}
	return conv.RetryWrite
}
