package hub

import (
	"container/heap"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// clock fires for conversations when their time has come. It may fire early, never late: what it fires looks again and does nothing when nothing is
// due. One closes conversations when a limit of time is over, and ends approvals, another one steps the desks.
type clock struct {
	hub  *Hub
	fire func(conversation string)
	kick chan struct{} // one slot: the earliest time has changed

	mu   sync.Mutex // guards the fields below
	due  map[string]parley.Timestamp
	heap dueHeap // has every entry of due, and some that are no longer
}

func newClock(h *Hub, fire func(string)) *clock {
	return &clock{hub: h, fire: fire, kick: make(chan struct{}, 1), due: make(map[string]parley.Timestamp)}
}

// set makes the clock fire for a conversation at due at the latest. Zero is no time: it does not fire any more.
func (k *clock) set(conversation string, due parley.Timestamp) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if due == 0 {
		k.dropLocked(conversation)
		return
	}
	if at, ok := k.due[conversation]; ok && at <= due {
		return // fires early, finds out, and is set again
	}
	k.due[conversation] = due
	heap.Push(&k.heap, dueAt{due, conversation})
	k.compactLocked()
	if k.heap[0].conversation == conversation {
		select {
		case k.kick <- struct{}{}:
		default: // a kick is there already
		}
	}
}

// dropLocked forgets a conversation.
func (k *clock) dropLocked(conversation string) {
	delete(k.due, conversation)
	k.compactLocked()
}

// compactLocked forgets the entries of the forgotten once they are most of the heap.
func (k *clock) compactLocked() {
	if len(k.heap) < 2*len(k.due)+64 {
		return
	}
	k.heap = k.heap[:0]
	for id, at := range k.due {
		k.heap = append(k.heap, dueAt{at, id})
	}
	heap.Init(&k.heap)
}

// next takes the conversation that is due, or says how long to wait.
func (k *clock) next() (conversation string, wait time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.heap) > 0 {
		first := k.heap[0]
		if k.due[first.conversation] != first.at {
			heap.Pop(&k.heap) // replaced by an earlier one, which has fired
			continue
		}
		if wait := first.at.Time().Sub(k.hub.Now()); wait > 0 {
			return "", wait
		}
		heap.Pop(&k.heap)
		delete(k.due, first.conversation)
		return first.conversation, 0
	}
	return "", time.Hour
}

// run fires until the hub ends.
func (k *clock) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		conversation, wait := k.next()
		if conversation != "" {
			k.fire(conversation)
			if k.hub.ctx.Err() != nil {
				return
			}
			continue
		}
		timer.Reset(wait)
		select {
		case <-k.hub.ctx.Done():
			return
		case <-k.kick:
		case <-timer.C:
		}
	}
}

// tickAgain is when an overdue conversation is tried again whose close could not be written.
const tickAgain = time.Second

// tickUnread is when one is tried again that could not be read: rarely, because that costs a reading of all that is whole.
const tickUnread = 10 * time.Minute

// tick closes a conversation if it is overdue, or ends its approvals that are, and sets the clock again.
func (h *Hub) tick(id string) {
	if wait := h.presence.yields(id); wait > 0 {
		h.clock.set(id, parley.TimestampOf(h.Now().Add(wait)))
		return
	}
	c, err := h.pin(id)
	if err != nil { // draining, or it cannot be read, which was logged
		h.clock.set(id, parley.TimestampOf(h.Now().Add(tickUnread)))
		return
	}
	c.do(&op{cmd: fold.Command{Verb: fold.Tick, From: parley.HubID}, reply: func(d *fold.Decision, err error) {
		due := d.State.Wakes()
		if err != nil && h.Err() == nil { // no room, perhaps
			due = parley.TimestampOf(h.Now().Add(tickAgain))
		}
		h.clock.set(id, due)
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
