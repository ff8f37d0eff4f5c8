package conv

import (
	"github.com/parleyhub/parley"
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

// PassDelta passes a delta to the subscriptions, unless its turn is over.
func (c *Conversation) PassDelta(d parley.Delta) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passDeltaLocked(d)
}

func (c *Conversation) passDeltaLocked(d parley.Delta) {
	if len(c.audience) == 0 || c.durable.Closed() || d.Turn != c.durable.CurrentTurn() {
		return
	}
	c.deltas = append(c.deltas, delta{d, c.durable.Seq})
	c.deltaCount++
	c.deltaBytes += len(d.Text)
	drop := 0
	for len(c.deltas)-drop > keepDeltas || c.deltaBytes > keepDeltaBytes {
		c.deltaBytes -= len(c.deltas[drop].Text)
		drop++
	}
	clear(c.deltas[:drop])
	c.deltas = c.deltas[drop:]
	c.wakeLocked()
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
		c.passDeltaLocked(d)
	}
}
