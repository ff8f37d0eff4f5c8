package serve

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// startMemory returns a server on a log in memory, which is closed at the end of the test.
func startMemory(t *testing.T) *Server {
	t.Helper()
	s, err := Start(Options{Journal: memory.New(), Address: "127.0.0.1:0", Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestServerEndsWhenItCannotWrite: a hub whose log takes no more writes is no hub; its process
// ends, and says why.
func TestServerEndsWhenItCannotWrite(t *testing.T) {
	t.Parallel()
	j := memory.New()
	s, err := Start(Options{Journal: j, Address: "127.0.0.1:0", Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	client := s.Hub.Client(s.Hub.LocalPrincipal("ann"))
	ended := make(chan error, 1)
	go func() { ended <- s.run(t.Context()) }()
	_, err = client.CreateConversation(t.Context(), &parley.CreateConversationParams{
		ConversationID: "c1", Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman}},
	})
	if err != nil {
		t.Fatal(err)
	}
	j.FailNext(journal.ErrOutcomeUnknown)
	_, err = client.SendMessage(t.Context(), &parley.SendMessageParams{
		ConversationID: "c1", Payload: json.RawMessage(`{"text":"hello"}`), Finality: parley.FinalityTurn,
	})
	if !errors.Is(err, parley.ErrOutcomeUnknown) {
		t.Fatalf("%v, expected outcome_unknown", err)
	}
	err = <-ended
	if err == nil || !strings.Contains(err.Error(), "takes no more writes") {
		t.Fatalf("run ended with %v", err)
	}
	if f := exit.FailureOf(context.Background(), err); f.Exit == exit.CodeOK || f.Hint == "" {
		t.Errorf("reported as %+v", f)
	}
}
