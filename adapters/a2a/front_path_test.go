package a2a

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// Each version and binding works end to end: the client of the library, HTTP, the methods, a hub,
// and an agent that answers.
func TestPath(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	hub := sdktest.NewHub(t)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	bot := hub.Client(t, "bot")
	go func() {
		ended <- executors.Run(ctx, bot, parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome,
			error) {
			_, err := turn.Post(ctx, parley.Message{Text: "heard"}, parley.FinalityTurn)
			return "", err
		}), nil)
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Logf("the executor: %v", err)
		}
	})
	alice := hub.Client(t, "alice")
	s, err := New(&Options{
		Agents:  []Agent{{Name: "bot", Speaks: "bot"}},
		Connect: func(*http.Request) (parley.Client, func(), error) { return alice, nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.Handler())
	t.Cleanup(h.Close)
	for name, client := range libraryClients(t, h.URL+"/a2a/bot") {
		t.Run(name, func(t *testing.T) {
			id := strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), "+", "")
			say := func(n string) *a2a.SendMessageRequest {
				return &a2a.SendMessageRequest{Message: &a2a.Message{ID: id + n, Role: a2a.MessageRoleUser,
					Parts: a2a.ContentParts{a2a.NewTextPart("hello")}}}
			}
			got, err := client.SendMessage(t.Context(), say("-1"))
			task, is := got.(*a2a.Task)
			if !is || task.Status.State != a2a.TaskStateCompleted || len(task.Artifacts) != 1 ||
				task.Artifacts[0].Parts[0].Text() != "heard" {
				t.Fatalf("SendMessage: %+v, %v", got, err)
			}
			again, err := client.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID})
			if err != nil || again.Status.State != a2a.TaskStateCompleted || again.ContextID != task.ContextID {
				t.Errorf("GetTask: %+v, %v", again, err)
			}
			streams(t, "SendStreamingMessage", client.SendStreamingMessage(t.Context(), say("-2")))
			if _, err := client.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "cnv_none.1"}); !errors.Is(err,
				a2a.ErrTaskNotFound) {
				t.Errorf("GetTask of none: %v", err)
			}
		})
	}
}
