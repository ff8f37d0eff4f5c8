package hub

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// openBare starts a hub on a journal in memory. The caller is in a bubble.
func openBare(t *testing.T) *Hub {
	j := memory.New()
	h, err := Open(j, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(); _ = j.Close() })
	return h
}

func begin(t *testing.T, h *Hub, l parley.Limits, seats ...parley.Participant) string {
	t.Helper()
	s, err := h.Client(h.LocalPrincipal(seats[0].ID)).CreateConversation(t.Context(),
		&parley.CreateConversationParams{Participants: seats, Limits: &l})
	if err != nil {
		t.Fatal(err)
	}
	return s.ConversationID
}

func post(t *testing.T, h *Hub, p *auth.Principal, id string, f parley.Finality) {
	t.Helper()
	said := make(chan error, 1)
	q := &parley.SendMessageParams{ConversationID: id, Finality: f, Payload: json.RawMessage(`{"text":"x"}`)}
	h.SendMessage(p, q, func(_ parley.SendResult, err error) { said <- err })
	if err := <-said; err != nil {
		t.Fatal(err)
	}
}

// TestClosedByItsOwnClaim: a claim that was taken by the append with which a limit has closed the conversation is not remembered.
func TestClosedByItsOwnClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openBare(t)
		on := h.LocalPrincipal("a").On(h.Connect(nil, nil))
		for range 100 {
			id := begin(t, h, parley.Limits{MaxEvents: 1}, parley.Participant{ID: "a", Kind: parley.KindAgent})
			post(t, h, on, id, parley.FinalityNone)
		}
		synctest.Wait()
		if n := h.Counted().Claims; n != 0 {
			t.Errorf("%d claims of closed conversations are remembered", n)
		}
	})
}
