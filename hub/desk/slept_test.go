package desk

import (
	"testing"

	"github.com/parleyhub/parley"
)

// TestSlept: a hub that was stopped beyond the deadline of a claim has not read yet what its holder has sent meanwhile. It waits for that once, as long as it
// was late and 5 s at most.
func TestSlept(t *testing.T) {
	for _, c := range []struct{ late, more Time }{{1_001, 1_001}, {3_000, 3_000}, {60_000, 5_000}} {
		b := newTable(t, parley.Limits{TurnTimeoutMs: 10_000}, "x")
		b.wantAsked(start, "x")
		b.take("x")
		woken := start + 10_000 + c.late
		b.nothing(woken, woken+c.more)
		b.nothing(woken+c.more-1, woken+c.more)
		b.command(woken + c.more)
	}
	b := newTable(t, parley.Limits{TurnTimeoutMs: 10_000}, "x")
	b.wantAsked(start, "x")
	b.take("x")
	b.command(start + 10_000 + lateMs) // a busy hub has not slept
}
