package hub

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// slowStart is a journal that lists its open conversations once listed is closed.
type slowStart struct {
	*memory.Journal
	listed chan struct{}
}

func (j slowStart) Open(after string, n int) ([]string, error) {
	<-j.listed
	return j.Journal.Open(after, n)
}

func openSlowly(t *testing.T) (*Hub, slowStart) {
	t.Helper()
	j := slowStart{memory.New(), make(chan struct{})}
	h, err := Open(j, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(); _ = j.Close() })
	return h, j
}

// A claim that a client in the hub's process takes during the start is not one of the process before,
// although the hub loads its conversation only afterwards.
func TestRecover_KeepsClaimsOfThisProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, j := openSlowly(t)
		id := begin(t, h, parley.Limits{}, parley.Participant{ID: "a", Kind: parley.KindAgent})
		c := h.Client(h.LocalPrincipal("a"))
		q := &parley.SendMessageParams{
			ConversationID: id, Finality: parley.FinalityNone, Payload: json.RawMessage(`{"text":"x"}`),
		}
		half, err := c.SendMessage(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		close(j.listed)
		synctest.Wait()
		q.Finality, q.ClaimID = parley.FinalityTurn, half.ClaimID
		if _, err := c.SendMessage(t.Context(), q); err != nil {
			t.Error(err)
		}
	})
}

// A client in the hub's process takes and renews a claim while the hub still loads conversations.
func TestRecover_DoesNotDelayClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, j := openSlowly(t)
		defer close(j.listed)
		id := begin(t, h, parley.Limits{}, parley.Participant{ID: "a", Kind: parley.KindAgent})
		c := h.Client(h.LocalPrincipal("a"))
		k, err := c.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: id, Turn: 1})
		if err != nil {
			t.Fatal(err)
		}
		q := &parley.RenewClaimParams{ConversationID: id, ClaimID: k.ClaimID}
		if _, err := c.RenewClaim(t.Context(), q); err != nil {
			t.Error(err)
		}
	})
}
