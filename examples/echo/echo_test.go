package echo_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/examples/echo"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// TestEcho: a talk with the agent, each line and what comes back.
func TestEcho(t *testing.T) {
	h := sdktest.NewHub(t)
	ann, agent := h.Client(t, "ann"), h.Client(t, echo.Name)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- executors.External(agent, echo.Agent(time.Millisecond),
			&executors.Options{Agents: []string{echo.Name}}).Run(ctx)
	}()
	defer func() { stop(); <-ended }()
	s, err := ann.CreateConversation(t.Context(), &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "ann", Kind: parley.KindPeer}, {ID: echo.Name, Kind: parley.KindAgent}},
	})
	if err != nil {
		t.Fatal(err)
	}
	seq := s.LatestSeq
	for _, c := range []struct {
		said, want string
		tag        bool
	}{
		{"hello", "hello", false},
		{"ask", "What shall I say?", true},
		{"good morning", "You said: good morning", false},
		{"slow", "1 of 5|2 of 5|3 of 5|4 of 5|Done: slow", false},
		{"ask me", "What shall I say?", true},
		{"ask", "You said: ask", false},
	} {
		r, err := ann.SendMessage(t.Context(), &parley.SendMessageParams{
			ConversationID: s.ConversationID, Payload: []byte(`{"text":"` + c.said + `"}`), Finality: parley.FinalityTurn,
			AfterSeq: &seq,
		})
		if err != nil {
			t.Fatal(err)
		}
		u, err := ann.GetUpdates(t.Context(), &parley.GetUpdatesParams{ConversationID: s.ConversationID, SinceSeq: r.Seq,
			Until: parley.UntilMyTurn, TimeoutMs: 30_000})
		if err != nil || u.TimedOut {
			t.Fatalf("%q: no answer: %v", c.said, err)
		}
		var texts []string
		tagged := false
		for _, e := range u.Messages {
			m, err := e.Message()
			if err != nil {
				t.Fatal(err)
			}
			texts, tagged = append(texts, m.Text), len(m.Tags) == 1
		}
		if got := strings.Join(texts, "|"); got != c.want || tagged != c.tag {
			t.Errorf("%q: %q, tagged %v; expected %q, %v", c.said, got, tagged, c.want, c.tag)
		}
		seq = u.NextSeq
	}
}
