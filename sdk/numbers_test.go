package sdk_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// TestNumbersBeyondDouble: a number that is JSON but no double comes through as it was written, in
// a log, in a result and in an error.
func TestNumbersBeyondDouble(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	ann := h.Client(t, "ann")
	const data = `{"huge":1e400,"long":123456789012345678901234567890.1}`
	s, err := ann.CreateConversation(t.Context(), &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman}}, Metadata: json.RawMessage(data),
	})
	if err != nil || string(s.Metadata) != data {
		t.Fatalf("metadata %s, %v", s.Metadata, err)
	}
	p := &parley.SendMessageParams{
		ConversationID: s.ConversationID,
		Payload:        json.RawMessage(`{"data":` + data + `}`),
		Finality:       parley.FinalityTurn,
	}
	if _, err := ann.SendMessage(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	page, err := ann.Tail(t.Context(), &parley.TailParams{ConversationID: s.ConversationID})
	if err != nil || len(page.Events) != 2 || !strings.Contains(string(page.Events[1].Payload), data) {
		t.Fatalf("%+v, %v", page, err)
	}
}
