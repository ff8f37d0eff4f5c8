package jetstream

import "sync/atomic"

// Stats is what a node has counted since it was opened, and how it is now.
type Stats struct {
	// Connected says that there is a connection to a server, which has answered.
	Connected bool
	// Lag is how many messages the replica has not that the stream had when a server answered last.
	Lag uint64
	// Published are messages, each with all that came together; Bare are those of them without events, which only tell whether a head is the head. Resent are copies,
	// published because no answer came.
	Published, Bare, Resent int64
	// Redone are batches that were decided again because another node had written to their conversation.
	Redone int64
}

type counters struct{ published, bare, resent, redone atomic.Int64 }

// sent counts a copy of a round that was published.
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

// Stats tells what the node has counted.
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
