package conv

// Counting is measured without the append around it.

import (
	"testing"
	"time"

	"github.com/parleyhub/parley"
)

// BenchmarkCounting measures what counting adds to a message. Compare it with BenchmarkSendMessage
// of package hub in the same run.
func BenchmarkCounting(b *testing.B) {
	n := counters{appends: NewHistogram(appendBounds)}
	c := &Conversation{}
	start := time.Now()
	for b.Loop() {
		n.appends.Observe(1, time.Since(start))
		n.countEvent(parley.TypeMessage)
		c.committedSeq.Store(1)
	}
}

// A duration that equals a bound is in its bucket, and the last bucket has everything beyond the
// bounds.
func TestHistogramBounds(t *testing.T) {
	for i, bound := range appendBounds {
		h := NewHistogram(appendBounds)
		at := time.Duration(bound * float64(time.Millisecond))
		h.Observe(1, at)
		h.Observe(1, at+1)
		d := h.Durations()
		if d.Count != 2 || d.Buckets[i] != 1 || i > 0 && d.Buckets[i-1] != 0 || i+1 < len(d.Buckets) && d.Buckets[i+1] != 2 {
			t.Errorf("around %g ms: %+v", bound, d)
		}
	}
}
