package hub

import (
	"maps"

	"github.com/parleyhub/parley"
)

// turnCounts are what is counted of turns; guarded by turns.mu.
type turnCounts struct {
	offers, taken int64
	ended         map[parley.ClaimEnd]int64
	turns, waits  durations
}

// turnBounds are the upper ends of the buckets, in ms: from an agent in the hub's process to one that thinks for long.
var turnBounds = []float64{5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 600_000, 3_600_000}

// durations counts by bucket.
type durations struct {
	count, sumMs int64
	buckets      []int64 // the last is beyond all bounds
}

func (d *durations) observe(ms int64) {
	if d.buckets == nil {
		d.buckets = make([]int64, len(turnBounds)+1)
	}
	ms = max(ms, 0)
	i := 0
	for i < len(turnBounds) && float64(ms) > turnBounds[i] {
		i++
	}
	d.buckets[i]++
	d.count++
	d.sumMs += ms
}

func (d *durations) told() parley.Durations {
	out := parley.Durations{Count: d.count, SumMs: float64(d.sumMs), BoundsMs: append([]float64(nil), turnBounds...), Buckets: make([]int64, len(turnBounds))}
	var sum int64
	for i := range d.buckets {
		sum += d.buckets[i]
		if i < len(out.Buckets) {
			out.Buckets[i] = sum
		}
	}
	return out
}

// count puts what is counted of turns into s.
func (t *turns) count(s *parley.Stats) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := &t.counts
	s.Turns, s.ClaimWaits, s.Offers, s.ClaimsTaken, s.ClaimsEnded = n.turns.told(), n.waits.told(), n.offers, n.taken, maps.Clone(n.ended)
	s.Executors, s.Claims, s.ConversationsOpen = int64(len(t.executors)), int64(len(t.holdings)), int64(len(t.open))
}
