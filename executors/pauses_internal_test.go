package executors

import (
	"testing"
	"time"
)

// Pauses grow, are jittered, and respect their limits.
func TestPauses(t *testing.T) {
	o := Options{MinBackoff: 100 * time.Millisecond, MaxBackoff: time.Second}
	first, last := map[time.Duration]bool{}, map[time.Duration]bool{}
	for range 20 {
		p := o.newPauses()
		at := p.next()
		first[at] = true
		if at < 50*time.Millisecond || at > 150*time.Millisecond {
			t.Fatalf("the first pause is %v", at)
		}
		for range 9 {
			at = p.next()
		}
		last[at] = true
		if at < 500*time.Millisecond || at > time.Second {
			t.Fatalf("the tenth pause is %v", at)
		}
		p.reset()
		if at = p.next(); at > 150*time.Millisecond {
			t.Fatalf("the pause after a success is %v", at)
		}
	}
	if len(first) < 2 || len(last) < 2 {
		t.Errorf("20 first pauses are of %d lengths, 20 tenth ones of %d", len(first), len(last))
	}
}
