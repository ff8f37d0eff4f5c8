package hub

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
)

// TestTakenBeforeItWasLookedAt: a claim that was taken in the hub's process after the start is none of the process before, though the hub comes to look
// at its conversation only then.
func TestTakenBeforeItWasLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openBare(t)
		id := begin(t, h, parley.Limits{}, parley.Participant{ID: "a", Kind: parley.KindAgent})
		c := h.Client(h.LocalPrincipal("a"))
		q := &parley.SendMessageParams{ConversationID: id, Finality: parley.FinalityNone, Payload: json.RawMessage(`{"text":"x"}`)}
		half, err := c.SendMessage(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		h.turns.recoverOne(id) // there are many before it
		synctest.Wait()
		q.Finality, q.ClaimID = parley.FinalityTurn, half.ClaimID
		if _, err := c.SendMessage(t.Context(), q); err != nil {
			t.Error(err)
		}
	})
}

// TestTakenWhileOthersAreLookedAt: while the hub has not looked at all conversations yet, a claim of its own process is taken and renewed as ever.
func TestTakenWhileOthersAreLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openBare(t)
		synctest.Wait()
		h.turns.recovered = make(chan struct{}) // it is still at it
		defer close(h.turns.recovered)
		id := begin(t, h, parley.Limits{}, parley.Participant{ID: "a", Kind: parley.KindAgent})
		c := h.Client(h.LocalPrincipal("a"))
		k, err := c.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: id, Turn: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.RenewClaim(t.Context(), &parley.RenewClaimParams{ConversationID: id, ClaimID: k.ClaimID}); err != nil {
			t.Error(err)
		}
	})
}
