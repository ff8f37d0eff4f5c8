package conv

import (
	"container/heap"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// Clock calls a function for conversations when their time is due. It may call early, never late:
// the function looks at the conversation and does nothing if nothing is due.
type Clock struct {
	engine *Engine
	fire   func(conversation string)
	kick   chan struct{} // one slot: the earliest time has changed

	mu   sync.Mutex // guards the fields below
	due  map[string]parley.Timestamp
	heap dueHeap // has every entry of due, and some replaced ones
}

// NewClock returns a clock of the hub's time. It works while Run runs.
func NewClock(e *Engine, fire func(conversation string)) *Clock {
	return &Clock{engine: e, fire: fire, kick: make(chan struct{}, 1), due: make(map[string]parley.Timestamp)}
}

// Set makes the clock fire for a conversation at due or earlier. Zero removes the time.
func (k *Clock) Set(conversation string, due parley.Timestamp) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if due == 0 {
		delete(k.due, conversation)
		k.compactLocked()
		return
	}
	if at, ok := k.due[conversation]; ok && at <= due {
		return // it fires early, and the function sets the clock again
	}
	k.due[conversation] = due
	heap.Push(&k.heap, dueAt{due, conversation})
	k.compactLocked()
	if k.heap[0].conversation == conversation {
		select {
		case k.kick <- struct{}{}:
		default: // a kick is pending
		}
	}
}

// compactLocked removes replaced entries once they are most of the heap.
func (k *Clock) compactLocked() {
	if len(k.heap) < 2*len(k.due)+64 {
		return
	}
	k.heap = k.heap[:0]
	for id, at := range k.due {
		k.heap = append(k.heap, dueAt{at, id})
	}
	heap.Init(&k.heap)
}

// next removes and returns the conversation that is due, or returns how long to wait.
func (k *Clock) next() (conversation string, wait time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.heap) > 0 {
		first := k.heap[0]
		if k.due[first.conversation] != first.at {
			heap.Pop(&k.heap) // an earlier entry replaced it and has fired
			continue
		}
		if wait := first.at.Time().Sub(k.engine.Now()); wait > 0 {
			return "", wait
		}
		heap.Pop(&k.heap)
		delete(k.due, first.conversation)
		return first.conversation, 0
	}
	return "", time.Hour
}

// Run fires until the hub ends.
func (k *Clock) Run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		conversation, wait := k.next()
		if conversation != "" {
			k.fire(conversation)
			if k.engine.ctx.Err() != nil {
				return
			}
			continue
		}
		timer.Reset(wait)
		select {
		case <-k.engine.ctx.Done():
			return
		case <-k.kick:
		case <-timer.C:
		}
	}
}

const (
	// RetryWrite is when a command of the hub is tried again that could not be written.
	RetryWrite = time.Second
	// RetryRead is when a conversation is tried again that could not be read. It is long because the
	// read covers everything that is intact.
	RetryRead = 10 * time.Minute
)

// tick closes a conversation if it is overdue, or ends its overdue approvals, and sets the clock again.
func (e *Engine) tick(id string) {
	if f := e.parts.Freshness; f != nil {
		if wait := f.Yields(id); wait > 0 {
			e.limits.Set(id, parley.TimestampOf(e.Now().Add(wait)))
			return
		}
	}
	c, err := e.Pin(id)
	if err != nil { // the hub drains, or the load has logged the error
		e.limits.Set(id, parley.TimestampOf(e.Now().Add(RetryRead)))
		return
	}
	c.Do(&Request{Cmd: fold.Command{Do: &fold.Tick{}, From: parley.HubID}, Reply: func(d *fold.Decision, err error) {
		due := d.State.NextDeadline()
		if err != nil && e.Err() == nil { // the journal may have no room
			due = parley.TimestampOf(e.Now().Add(RetryWrite))
		}
		e.limits.Set(id, due)
	}})
}

type dueAt struct {
	at           parley.Timestamp
	conversation string
}

type dueHeap []dueAt

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)        { *h = append(*h, x.(dueAt)) }
func (h *dueHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
