package hub

// White-box: what counting costs is measured without the append around it.

import (
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// BenchmarkCounting is all that a message costs more because it is counted. Compare with BenchmarkSendMessage in the same run.
func BenchmarkCounting(b *testing.B) {
	var n counters
	c := &conversation{}
	frames := []frame{{seq: 1, meta: fold.Meta{Type: parley.TypeMessage}}}
	start := time.Now()
	for b.Loop() {
		n.committed(frames, start.Add(time.Since(start)))
		c.committedSeq.Store(frames[0].seq)
	}
}

// TestHistogramBounds: a duration that is exactly a bound is under it, and none is lost beyond the last.
func TestHistogramBounds(t *testing.T) {
	for i, bound := range appendBounds {
		var h histogram
		at := time.Duration(bound * float64(time.Millisecond))
		h.observe(at)
		h.observe(at + 1)
		d := h.durations()
		if d.Count != 2 || d.Buckets[i] != 1 || i > 0 && d.Buckets[i-1] != 0 || i+1 < len(d.Buckets) && d.Buckets[i+1] != 2 {
			t.Errorf("around %g ms: %+v", bound, d)
		}
	}
}
