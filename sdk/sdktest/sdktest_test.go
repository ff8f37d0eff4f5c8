package sdktest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// TestAgentAnswers shows a test of an agent: a hub, a seat for the agent, and a client that talks
// to it.
func TestAgentAnswers(t *testing.T) {
	h := sdktest.NewHub(t)
	id := h.Create(t, "me", "echo")
	me := h.Client(t, "me")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- executors.Run(ctx, h.Client(t, "echo"), echo, nil) }()

	say(t, me, id, "hello")
	u, err := me.GetUpdates(
		t.Context(),
		&parley.GetUpdatesParams{ConversationID: id, SinceSeq: 2, Until: parley.UntilMyTurn, TimeoutMs: 30_000},
	)
	if err != nil {
		t.Fatal(err)
	}
	if len(u.Messages) != 1 || string(u.Messages[0].Payload) != `{"text":"hello"}` {
		t.Errorf("the agent answered %+v", u.Messages)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run ended with %v", err)
	}
}

// echo repeats the last message.
var echo = parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
	said, err := turn.Messages(ctx)
	if err != nil {
		return "", err
	}
	m, err := said[len(said)-1].Message()
	if err != nil {
		return "", err
	}
	_, err = turn.Post(ctx, m, parley.FinalityTurn)
	return parley.TurnPosted, err
})

func say(t *testing.T, c parley.Client, conversation, text string) *parley.SendResult {
	t.Helper()
	payload, err := json.Marshal(parley.Message{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.SendMessage(
		t.Context(),
		&parley.SendMessageParams{ConversationID: conversation, Payload: payload, Finality: parley.FinalityTurn},
	)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRestartKeepsTheLog: after a restart, acknowledged events are in the log, at the same address.
func TestRestartKeepsTheLog(t *testing.T) {
	h := sdktest.NewHub(t)
	id := h.Create(t, "a", "b")
	a := h.Client(t, "a")
	sent := say(t, a, id, "before")
	h.Restart(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	page, err := a.Tail(ctx, &parley.TailParams{ConversationID: id, SinceSeq: sent.Seq - 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Events) != 1 || page.LatestSeq != sent.Seq {
		t.Errorf("after the restart the log has %d, the events %v", page.LatestSeq, page.Events)
	}
}

// TestEventsGoOnOverCuts: a loop over events yields each event once, however often its connection
// is cut.
func TestEventsGoOnOverCuts(t *testing.T) {
	h := sdktest.NewHub(t)
	id := h.Create(t, "a", "b")
	writer := h.InProcess(t, "a")
	var told bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&told, nil))
	reader := h.Dial(
		t,
		&sdk.Options{
			Token:      h.NewToken(t, "b"),
			Logger:     logger,
			MinBackoff: time.Millisecond,
			MaxBackoff: 20 * time.Millisecond,
		},
	)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	const cuts = 5
	last := int64(0)
	for e, err := range reader.Events(ctx, id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq != last+1 {
			t.Fatalf("seq %d follows %d", e.Seq, last)
		}
		if last = e.Seq; last > cuts {
			break
		}
		h.CutConnections()
		_, err = writer.SendNote(
			ctx,
			&parley.SendNoteParams{ConversationID: id, Payload: parley.Note{Schema: "x.v1", Data: json.RawMessage(`{}`)}},
		)
		if err != nil {
			t.Fatal(err)
		}
	}
	if last != cuts+1 {
		t.Errorf("the loop ended after seq %d", last)
	}
	_ = reader.Close() // no writes to told after Close
	if lost := strings.Count(told.String(), "connection to the hub lost"); lost < cuts {
		t.Errorf("%d connections of the reader were lost, expected %d", lost, cuts)
	}
}
