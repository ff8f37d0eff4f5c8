package conv

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
)

// counters of committed events and answers. Counting never waits.
type counters struct {
	messages, traces, systems atomic.Int64 // committed events
	duplicates                atomic.Int64
	appends                   *Histogram
}

// countEvent counts a committed event.
func (n *counters) countEvent(t parley.EventType) {
	switch t {
	case parley.TypeMessage:
		n.messages.Add(1)
	case parley.TypeTrace:
		n.traces.Add(1)
	default:
		n.systems.Add(1)
	}
}

// AddStats sets the fields of s that the engine counts. The numbers are read one after another while
// the hub works.
func (e *Engine) AddStats(s *parley.Stats) {
	n := &e.counters
	s.EventsAppended = map[parley.EventType]int64{
		parley.TypeMessage: n.messages.Load(), parley.TypeTrace: n.traces.Load(), parley.TypeSystem: n.systems.Load(),
	}
	s.Duplicates, s.Append = n.duplicates.Load(), n.appends.Durations()
	e.mu.Lock()
	s.ConversationsLoaded = int64(len(e.loaded))
	e.mu.Unlock()
	s.JournalBytes = e.journal.Size()
	s.Subscribers, s.MaxLag, s.SumLag = e.subscriptions.lag()
}

// appendBounds are the bounds of the durations of appends, in ms.
var appendBounds = []float64{0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000}

// Histogram counts durations by bucket. It needs no lock.
type Histogram struct {
	bounds  []float64      // the upper bounds of the buckets, in ms
	buckets []atomic.Int64 // the last is beyond all bounds
	nanos   atomic.Int64   // the sum
}

// NewHistogram returns a histogram whose buckets have the given upper bounds, in ms.
func NewHistogram(bounds []float64) *Histogram {
	return &Histogram{bounds: bounds, buckets: make([]atomic.Int64, len(bounds)+1)}
}

// Observe counts a duration n times.
func (h *Histogram) Observe(n int, d time.Duration) {
	ms := float64(d) / float64(time.Millisecond)
	i := 0
	for i < len(h.bounds) && ms > h.bounds[i] {
		i++
	}
	h.nanos.Add(int64(n) * int64(d))
	h.buckets[i].Add(int64(n))
}

// Durations returns the counts.
func (h *Histogram) Durations() parley.Durations {
	d := parley.Durations{
		SumMs: float64(h.nanos.Load()) / float64(time.Millisecond), BoundsMs: slices.Clone(h.bounds),
		Buckets: make([]int64, len(h.bounds)),
	}
	for i := range h.buckets {
		d.Count += h.buckets[i].Load()
		if i < len(d.Buckets) {
			d.Buckets[i] = d.Count
		}
	}
	return d
}
