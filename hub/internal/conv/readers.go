package conv

import (
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// delta is a piece of text for subscriptions, which follows the event with seq after.
type delta struct {
	parley.Delta
	after int64
}

// Bounds of how far a subscription may be behind before it misses deltas.
const (
	keepDeltas     = 256
	keepDeltaBytes = 128 << 10
)

// readers has the open subscriptions of a conversation and the deltas for them, and wakes everything
// that waits for a change. Conversation.mu guards it.
type readers struct {
	changed       chan struct{} // closed by the next change; nil when no one waits
	subscriptions []*Subscription
	deltas        []delta
	deltaCount    int64 // deltas ever passed; deltas has the last of them
	deltaBytes    int   // of the text of deltas
}

// awaitChange returns a channel that the next change closes.
func (r *readers) awaitChange() <-chan struct{} {
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

// waits reports whether a reader waits for the next event.
func (r *readers) waits() bool { return r.changed != nil || len(r.subscriptions) > 0 }

// wake wakes the readers that wait for a change.
func (r *readers) wake() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
	for _, s := range r.subscriptions {
		if s.wake != nil {
			s.wake()
		}
	}
}

func (r *readers) add(s *Subscription) {
	s.deltas, s.index = r.deltaCount, len(r.subscriptions)
	r.subscriptions = append(r.subscriptions, s)
}

// remove removes a subscription, and drops the deltas with the last one.
func (r *readers) remove(s *Subscription) {
	r.subscriptions = removeUnordered(r.subscriptions, s, func(s *Subscription) *int { return &s.index })
	if len(r.subscriptions) == 0 {
		r.subscriptions, r.deltas, r.deltaBytes = nil, nil, 0
	}
}

// passDelta passes a delta to the subscriptions, unless its turn is over in the committed state.
func (r *readers) passDelta(d parley.Delta, durable *fold.State) {
	if len(r.subscriptions) == 0 || durable.Closed() || d.Turn != durable.CurrentTurn() {
		return
	}
	r.deltas = append(r.deltas, delta{d, durable.Seq})
	r.deltaCount++
	r.deltaBytes += len(d.Text)
	drop := 0
	for len(r.deltas)-drop > keepDeltas || r.deltaBytes > keepDeltaBytes {
		r.deltaBytes -= len(r.deltas[drop].Text)
		drop++
	}
	clear(r.deltas[:drop])
	r.deltas = r.deltas[drop:]
	r.wake()
}

// deltasAfter returns the deltas that are kept after the first count ones.
func (r *readers) deltasAfter(count int64) []delta {
	fresh := min(r.deltaCount-count, int64(len(r.deltas)))
	return slices.Clone(r.deltas[len(r.deltas)-int(fresh):])
}

// PassDelta passes a delta to the subscriptions, unless its turn is over.
func (c *Conversation) PassDelta(d parley.Delta) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readers.passDelta(d, &c.durable)
}

// PassPeerDelta passes a delta that another hub accepted on a state with the given seq and claim
// hash. It drops the delta if this hub is behind that state, or if the claim is no longer current
// here.
func (e *Engine) PassPeerDelta(d parley.Delta, seq int64, claim string) {
	if e.find(d.ConversationID) == nil {
		return
	}
	c, err := e.Pin(d.ConversationID)
	if err != nil {
		return
	}
	defer e.Unpin(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	current := ""
	if c.durable.Claim != nil {
		current = c.durable.Claim.Hash.String()
	}
	if c.durable.Seq >= seq && current == claim {
		c.readers.passDelta(d, &c.durable)
	}
}
