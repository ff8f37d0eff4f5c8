package turns

import (
	"maps"

	"github.com/parleyhub/parley"
)

// counts of turns and claims; guarded by Dispatcher.mu.
type counts struct {
	offers, taken int64
	ended         map[parley.ClaimEnd]int64
	turns, waits  durations
}

// durationBounds are the upper bounds of the buckets, in ms.
var durationBounds = []float64{
	5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 600_000, 3_600_000,
}

// durations counts durations by bucket.
type durations struct {
	count, sumMs int64
	buckets      []int64 // the last is beyond all bounds
}

func (d *durations) observe(ms int64) {
	if d.buckets == nil {
		d.buckets = make([]int64, len(durationBounds)+1)
	}
	ms = max(ms, 0)
	i := 0
	for i < len(durationBounds) && float64(ms) > durationBounds[i] {
		i++
	}
	d.buckets[i]++
	d.count++
	d.sumMs += ms
}

func (d *durations) stats() parley.Durations {
	out := parley.Durations{
		Count: d.count, SumMs: float64(d.sumMs),
		BoundsMs: append([]float64(nil), durationBounds...), Buckets: make([]int64, len(durationBounds)),
	}
	var sum int64
	for i := range d.buckets {
		sum += d.buckets[i]
		if i < len(out.Buckets) {
			out.Buckets[i] = sum
		}
	}
	return out
}

// AddStats sets the fields of s that the Dispatcher counts.
func (d *Dispatcher) AddStats(s *parley.Stats) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := &d.counts
	s.Turns, s.ClaimWaits, s.Offers, s.ClaimsTaken = n.turns.stats(), n.waits.stats(), n.offers, n.taken
	s.ClaimsEnded = maps.Clone(n.ended)
	s.Executors, s.Claims, s.ConversationsOpen = int64(len(d.executors)), int64(len(d.claims)), int64(len(d.open))
}
