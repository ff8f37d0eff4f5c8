package chat

import (
	"io"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/internal/limits"
)

// A line that was not answered and is typed again in its turn keeps its key, so that it is said
// once; any other gets a new one.
func TestAttemptKeepsItsKey(t *testing.T) {
	t.Parallel()
	p := func(text string, turn int64) *parley.SendMessageParams {
		return &parley.SendMessageParams{Payload: []byte(text), Turn: turn, Finality: parley.FinalityTurn}
	}
	var a attempt
	first := a.keyFor(p("x", 1))
	if a.keyFor(p("x", 1)) != first {
		t.Error("the same line in the same turn got another key")
	}
	other, later := a.keyFor(p("y", 1)), a.keyFor(p("y", 2))
	if other == first || later == other || first == "" {
		t.Errorf("keys %s, %s, %s", first, other, later)
	}
	a = attempt{} // answered
	if a.keyFor(p("y", 2)) == later {
		t.Error("a line that is said again after its answer got the old key")
	}
}

// TestChatTakesTheTurnAgain: a person on the seat of an agent who does not finish in time loses only
// that message.
func TestChatTakesTheTurnAgain(t *testing.T) {
	t.Parallel()
	s := clitest.OpenHub(t)
	bob := s.Client(s.LocalPrincipal("bob"))
	_, err := bob.CreateConversation(t.Context(), &parley.CreateConversationParams{
		ConversationID: "c1", Limits: &parley.Limits{TurnTimeoutMs: limits.MinDurationMs},
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
