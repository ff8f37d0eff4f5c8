package hub_test

import (
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// TestDerivedConversationID finds a conversation by the key that it was created with.
func TestDerivedConversationID(t *testing.T) {
	h := sdktest.NewHub(t)
	s, err := h.Client(t, "alice").CreateConversation(t.Context(), &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "alice", Kind: parley.KindHuman}}, ClientRequestID: "a key",
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := parley.DerivedConversationID("alice", "a key"); got != s.ConversationID {
		t.Errorf("derived %s, created %s", got, s.ConversationID)
	}
	// Logs hold ids that were made so: they never change.
	if got, want := parley.DerivedConversationID("alice", "a key"), "cnv_ulfaigya7s7nfgdnp3fm6hzo"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}
