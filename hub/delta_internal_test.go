package hub

// Looks inside because what is kept of deltas shows from outside only as memory.

import (
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal/memory"
)

func TestDeltasAreBounded(t *testing.T) {
	j := memory.New()
	defer j.Close()
	h, err := Open(j, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	a := h.Client(h.LocalPrincipal("a"))
	s, err := a.CreateConversation(t.Context(), &parley.CreateConversationParams{Participants: []parley.Participant{{ID: "a", Kind: parley.KindAgent}}})
	if err != nil {
		t.Fatal(err)
	}
	send := func(n int) {
		t.Helper()
		for i := range n {
			d := &parley.SendDeltaParams{ConversationID: s.ConversationID, Turn: 1, Index: int64(i), Text: strings.Repeat("x", parley.MaxDeltaBytes)}
			if err := a.SendDelta(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
	}
	kept := func() (n, bytes int) {
		c, err := h.pin(s.ConversationID)
		if err != nil {
			t.Fatal(err)
		}
		defer h.unpin(c)
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, d := range c.deltas {
			bytes += len(d.Text)
		}
		return len(c.deltas), bytes
	}
	send(10)
	if n, _ := kept(); n != 0 {
		t.Fatalf("%d deltas are kept for nobody", n)
	}
	sub, err := h.Subscribe(t.Context(), h.LocalPrincipal("a"), &parley.SubscribeParams{ConversationID: s.ConversationID})
	if err != nil {
		t.Fatal(err)
	}
	send(100)
	if n, bytes := kept(); n == 0 || bytes > keepDeltaBytes {
		t.Fatalf("%d deltas of %d bytes are kept", n, bytes)
	}
	sub.Close()
	if n, _ := kept(); n != 0 {
		t.Fatalf("%d deltas are kept when nobody is subscribed any more", n)
	}
}
