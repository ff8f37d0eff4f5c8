package hub

import (
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// TestSureConversationStaysEmpty: no caller can write to the conversation with which a hub checks
// whether it is behind.
func TestSureConversationStaysEmpty(t *testing.T) {
	j := memory.New()
	t.Cleanup(func() { _ = j.Close() })
	h := openShared(t, j)
	checkID := "~sure." + h.presence.ID()
	if !conv.Reserved(checkID) || check.AdapterConversationID(checkID) {
		t.Fatalf("%q is not the hub's own", checkID)
	}
	admin := h.LocalPrincipal("admin", parley.ScopeAdmin)
	_, err := h.Client(admin).CreateConversation(t.Context(), &parley.CreateConversationParams{ConversationID: checkID,
		Participants: []parley.Participant{{ID: "admin", Kind: parley.KindHuman}}})
	if err == nil {
		t.Error("an admin has created it")
	}
}
