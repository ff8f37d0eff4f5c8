package main

import (
	"io"
	"testing"

	"github.com/parleyhub/parley"
)

// TestChatTakesTheTurnAnew: who begins to speak from the seat of an agent and does not finish in time loses what was said, and no more than that.
func TestChatTakesTheTurnAnew(t *testing.T) {
	t.Parallel()
	s := openHub(t)
	bob := s.Client(s.LocalPrincipal("bob"))
	_, err := bob.CreateConversation(t.Context(), &parley.CreateConversationParams{
		ConversationID: "c1", Limits: &parley.Limits{TurnTimeoutMs: parley.MinDurationMs},
		Participants: []parley.Participant{{ID: "bob", Kind: parley.KindAgent}, {ID: "ann", Kind: parley.KindHuman}},
	})
	if err != nil {
		t.Fatal(err)
	}
	out, typed, ended := startChat(t, bob)
	out.wait("-- your turn (turn 1): ")
	io.WriteString(typed, "/say let me see\n")
	out.wait("is withdrawn\n")
	io.WriteString(typed, "yes\n")
	out.wait("bob  yes\n")
	typed.Close()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
