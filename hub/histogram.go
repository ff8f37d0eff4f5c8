package hub

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
)

// appendBounds are the upper ends of the buckets, in ms: from a commit in memory to a disk that hardly moves.
var appendBounds = [...]float64{0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000}

// histogram counts durations by bucket. It needs no lock: each is counted in one bucket, and they are added up when somebody looks.
type histogram struct {
	buckets [len(appendBounds) + 1]atomic.Int64 // the last is beyond all bounds
	nanos   atomic.Int64                        // the sum
}

func (h *histogram) observe(d time.Duration) {
	ms := float64(d) / float64(time.Millisecond)
	i := 0
	for i < len(appendBounds) && ms > appendBounds[i] {
		i++
	}
	h.nanos.Add(int64(d))
	h.buckets[i].Add(1)
}

func (h *histogram) durations() parley.Durations {
	d := parley.Durations{
		SumMs: float64(h.nanos.Load()) / float64(time.Millisecond), BoundsMs: slices.Clone(appendBounds[:]), Buckets: make([]int64, len(appendBounds)),
	}
	for i := range h.buckets {
		d.Count += h.buckets[i].Load()
		if i < len(d.Buckets) {
			d.Buckets[i] = d.Count
		}
	}
	return d
}
