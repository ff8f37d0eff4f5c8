package conv

import (
	"testing"

	"github.com/parleyhub/parley"
)

// TestClock_ForgetsReplacedTimes checks that the times that earlier ones replaced do not pile up
// behind the time of another conversation.
func TestClock_ForgetsReplacedTimes(t *testing.T) {
	k := NewClock(nil, nil)
	k.Set("other", 1)
	for i := range 10_000 {
		k.Set("x", parley.Timestamp(20_000-i))
		if entries := len(k.heap); entries > 2*len(k.due)+64 {
			t.Fatalf("%d entries for %d conversations", entries, len(k.due))
		}
	}
	k.Set("x", 0)
	for i := range 10_000 {
		k.Set("x", parley.Timestamp(20_000+i))
		k.Set("x", 0)
	}
	if entries := len(k.heap); entries > 2*len(k.due)+64 {
		t.Fatalf("%d entries for %d conversations", entries, len(k.due))
	}
}
