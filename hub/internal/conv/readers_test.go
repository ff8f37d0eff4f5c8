package conv

// The deltas that a conversation keeps are visible from outside only as memory.

import (
	"strings"
	"testing"

	"github.com/parleyhub/parley"
)

func TestDeltas_Bounded(t *testing.T) {
	e, c := newConversation(t)
	pass := func(n int) {
		for range n {
			c.PassDelta(parley.Delta{Turn: c.durable.CurrentTurn(), Text: strings.Repeat("x", parley.MaxDeltaBytes)})
		}
	}
	kept := func() (n, bytes int) {
		for _, d := range c.readers.deltas {
			bytes += len(d.Text)
		}
		return len(c.readers.deltas), bytes
	}
	pass(10)
	if n, _ := kept(); n != 0 {
		t.Fatalf("%d deltas are kept without a subscription", n)
	}
	e.Repin(c)
	sub, err := c.Subscribe(testCaller("a"), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	pass(100)
	if n, bytes := kept(); n == 0 || bytes > keepDeltaBytes {
		t.Fatalf("%d deltas of %d bytes are kept", n, bytes)
	}
	sub.Close()
	if n, _ := kept(); n != 0 {
		t.Fatalf("%d deltas are kept after the last subscription is closed", n)
	}
}
