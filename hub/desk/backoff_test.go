package desk

import (
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// TestBackoffIsJittered: hubs and conversations do not ask again all at once, and no pause is outside its bounds.
func TestBackoffIsJittered(t *testing.T) {
	for attempts, most := range map[int]Time{0: 0, 1: 250, 2: 500, 5: 4000, 6: 5000, 7: 5000, 1000: 5000} {
		seen := map[Time]bool{}
		for range 50 {
			d := backoff(attempts)
			if seen[d] = true; d > most || d < most/2 {
				t.Fatalf("after %d attempts a pause of %d ms, expected %d to %d", attempts, d, most/2, most)
			}
		}
		if most > 0 && len(seen) < 2 {
			t.Errorf("after %d attempts 50 pauses are all the same", attempts)
		}
	}
}

// TestBackoffLeavesTime: the pause after a failed attempt is at most half of the turn's time, so that it is offered again before that is over.
func TestBackoffLeavesTime(t *testing.T) {
	for _, timeout := range []int64{100, 1000, 60_000} {
		for range 50 {
			var d Desk
			k := d.sawAsk(start, fold.Ask{AgentID: "a", Turn: 1, Since: 1, Offer: true, Attempts: 6, TimeoutMs: timeout})
			if most := start + Time(min(timeout/2, maxBackoff)); k.next > most ||
				k.next < start+Time(min(timeout/2, maxBackoff/2)) {
				t.Fatalf("a turn of %d ms is offered again after %d ms", timeout, k.next-start)
			}
		}
	}
}

// TestBackoffOfAttempts: each attempt that a conversation allows is had, however short its turns are.
func TestBackoffOfAttempts(t *testing.T) {
	for _, at := range []parley.TurnTimeout{parley.TurnSkip, parley.TurnClose} {
		b := newTable(t, parley.Limits{TurnTimeoutMs: 100, MaxAttempts: 6, OnTurnTimeout: at}, "x")
		for range 6 {
			b.wantAsked(b.now+50, "x")
			b.take("x")
			b.end(parley.ClaimFailed)
		}
	}
}
