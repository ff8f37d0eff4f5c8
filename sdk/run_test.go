package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// TestReadmeIsCompiled: each block of Go in the README stands in the example, which the compiler reads, but for white space.
func TestReadmeIsCompiled(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	words := func(text []byte) string { return strings.Join(strings.Fields(string(text)), " ") }
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(readme, -1)
	if len(blocks) == 0 {
		t.Fatal("the README has no Go")
	}
	for _, block := range blocks {
		if !strings.Contains(words(example), words(block[1])) {
			t.Errorf("example_test.go does not have what the README shows:\n%s", block[1])
		}
	}
}

// TestRun: an agent takes two turns through Run, which ends with its ctx.
func TestRun(t *testing.T) {
	h := sdktest.NewHub(t)
	id := h.Create(t, "ann", "bob")
	ann := h.Client(t, "ann")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- sdk.Run(ctx, h.URL, parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			said, err := turn.Messages(ctx)
			if err != nil {
				return "", err
			}
			_, err = turn.Post(ctx, parley.Message{Text: fmt.Sprintf("I have read %d messages.", len(said))}, parley.FinalityTurn)
			return parley.TurnPosted, err
		}), &sdk.Options{Token: h.Token, AgentID: "bob"})
	}()
	for turn := range 2 {
		sent, err := ann.SendMessage(t.Context(), &parley.SendMessageParams{ConversationID: id, Payload: text("go on"), Finality: parley.FinalityTurn})
		if err != nil {
			t.Fatal(err)
		}
		u, err := ann.GetUpdates(t.Context(), &parley.GetUpdatesParams{
			ConversationID: id, SinceSeq: sent.Seq, Until: parley.UntilMyTurn, TimeoutMs: (20 * time.Second).Milliseconds(),
		})
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf(`{"text":"I have read %d messages."}`, 2*turn+1)
		if len(u.Messages) != 1 || u.Messages[0].From != "bob" || string(u.Messages[0].Payload) != want {
			t.Fatalf("turn %d: bob said %+v, expected %s", turn+1, u.Messages, want)
		}
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Run ended with %v", err)
	}
}

// TestRunRefused: a token that the hub does not know is not tried again.
func TestRunRefused(t *testing.T) {
	h := sdktest.NewHub(t)
	err := sdk.Run(t.Context(), h.URL, parley.AgentFunc(func(context.Context, *parley.Turn) (parley.TurnOutcome, error) {
		return parley.TurnPosted, errors.New("no turn is expected")
	}), &sdk.Options{Token: "plt_none_none"})
	if !errors.Is(err, parley.ErrUnauthenticated) {
		t.Errorf("Run ended with %v", err)
	}
}
