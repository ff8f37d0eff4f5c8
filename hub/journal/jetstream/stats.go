package jetstream

import "sync/atomic"

// Stats has the counters of a node since it was opened, and its state.
type Stats struct {
	// Connected is set if there is a connection to a server that answered.
	Connected bool
	// Lag is how many messages the replica lacks of those that the stream had at the last answer of
	// a server.
	Lag uint64
	// Published counts messages, and Bare those of them without events, which only check heads.
	// Resent counts copies that were published because no answer came.
	Published, Bare, Resent int64
	// Redone counts batches that were decided again because another node wrote to their
	// conversation.
	Redone int64
}

type counters struct{ published, bare, resent, redone atomic.Int64 }

// sent counts a published copy of a round.
func (c *counters) sent(copies, parts int) {
	switch {
	case copies > 1:
		c.resent.Add(1)
		return
	case parts == 0:
		c.bare.Add(1)
	}
	c.published.Add(1)
}

// Stats returns the counters and the state of the node.
func (j *Journal) Stats() Stats {
	applied, _ := j.follower.position()
	j.health.mu.Lock()
	last, err := j.health.last, j.health.err
	j.health.mu.Unlock()
	s := Stats{
		Connected: err == nil && j.nc.IsConnected(),
		Published: j.counted.published.Load(), Bare: j.counted.bare.Load(), Resent: j.counted.resent.Load(), Redone: j.counted.redone.Load(),
	}
	if last > applied {
		s.Lag = last - applied
	}
	return s
}
