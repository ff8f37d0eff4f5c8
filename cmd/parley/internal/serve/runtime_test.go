package serve

import (
	"math"
	"testing"
)

// TestGarbageIsBounded: a small heap is collected seldom, a large one leaves no more than as much
// again.
func TestGarbageIsBounded(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, c := range []struct {
		live uint64
		want int
	}{
		{0, 400}, {mib, 400}, {16 * mib, 400}, {17 * mib, 376}, {32 * mib, 200}, {64 * mib, 100}, {1 << 40, 100},
		{math.MaxUint64, 100},
	} {
		if got := garbageFor(c.live); got != c.want {
			t.Errorf("garbage for %d bytes: %d%%, expected %d%%", c.live, got, c.want)
		}
	}
}
