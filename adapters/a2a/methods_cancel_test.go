package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
)

func (w *opsWorld) cancel(c *caller, id a2a.TaskID) (*a2a.Task, error) {
	return w.s.cancel(w.t.Context(), c, &a2a.CancelTaskRequest{ID: id})
}

func TestCancel(t *testing.T) {
	w := newOpsWorld(t)
	alice := w.caller("alice")
	s := w.hear(w.s.stream(t.Context(), alice, opsRequest("m1", "hold c")))
	task := s.one().event.(*a2a.Task)
	s.until("working")
	canceled, err := w.cancel(alice, task.ID)
	if err != nil {
		t.Fatal(err)
	}
	opsState(t, canceled, a2a.TaskStateCanceled)
	states := opsStates(s.rest())
	if states[len(states)-1] != a2a.TaskStateCanceled {
		t.Errorf("the stream: %v", states)
	}
	_, err = w.cancel(alice, task.ID)
	opsRefused(t, "again", err, a2a.ErrTaskNotCancelable)
	opsState(t, w.get(alice, task.ID), a2a.TaskStateCanceled)
	_, err = w.s.send(t.Context(), alice, opsAt("m2", "x", "", task.ID))
	opsRefused(t, "a message to it", err, a2a.ErrUnsupportedOperation)
	// The turn of the agent was ended, so that the context continues.
	opsState(t, w.send(alice, opsAt("m3", "hello", task.ContextID, "")), a2a.TaskStateCompleted)

	done := w.send(alice, opsRequest("m4", "hello"))
	_, err = w.cancel(alice, done.ID)
	opsRefused(t, "one that has ended", err, a2a.ErrTaskNotCancelable)

	asks := w.send(alice, opsRequest("m5", "ask"))
	canceled, err = w.cancel(alice, asks.ID)
	if err != nil {
		t.Fatal(err)
	}
	opsState(t, canceled, a2a.TaskStateCanceled)
	opsState(t, w.send(alice, opsAt("m6", "hello", asks.ContextID, "")), a2a.TaskStateCompleted)
}

// A task that no executor has claimed yet can be canceled.
func TestCancelUnclaimed(t *testing.T) {
	w := newOpsWorld(t, Agent{Name: "nobody", Speaks: "nobody"})
	alice := w.caller("alice")
	task := w.send(alice, opsAtOnce(opsRequest("m1", "hello")))
	opsState(t, task, a2a.TaskStateSubmitted)
	canceled, err := w.cancel(alice, task.ID)
	if err != nil {
		t.Fatal(err)
	}
	opsState(t, canceled, a2a.TaskStateCanceled)
	if next := w.send(alice, opsAtOnce(opsAt("m2", "hello", task.ContextID, ""))); next.ID == task.ID {
		t.Errorf("the next message is of the task that was canceled")
	}
}

// runTool runs the deterministic agent tool. It returns its parameters, or waits for {"hold":
// true}.
func (w *opsWorld) runTool() {
	w.t.Helper()
	ready := make(chan struct{}, 1)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	agent := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		all, err := turn.Messages(ctx)
		if err != nil {
			return "", err
		}
		first, err := all[0].Message()
		if err != nil {
			return "", err
		}
		var p struct{ Hold bool }
		_ = json.Unmarshal(first.Parameters, &p)
		if p.Hold {
			<-ctx.Done()
			return "", ctx.Err()
		}
		text := string(first.Parameters)
		_, err = turn.Complete(ctx, parley.Message{Result: &parley.SessionResult{ResultType: parley.AgentTypeDeterministic,
			ResultText: &text, ResultData: first.Parameters}}, parley.Outcome{Status: parley.OutcomeCompleted})
		return parley.TurnComplete, err
	})
	client := w.h.Client(w.t, "tools")
	go func() {
		ended <- executors.Run(ctx, client, agent, &executors.Options{
			Blueprints: []parley.Blueprint{{Name: "tool", Description: "gives back what it gets",
				ParametersSchema: json.RawMessage(
					`{"type":"object","properties":{"n":{"type":"integer"},"hold":{"type":"boolean"},"prompt":{"type":"string"}},` +
						`"additionalProperties":false}`)}},
			Registered: func(*parley.RegisterBlueprintsResult) {
				select {
				case ready <- struct{}{}:
				default:
				}
			},
		})
	}()
	w.t.Cleanup(func() {
		stop()
		<-ended
	})
	select {
	case <-ready:
	case err := <-ended:
		w.t.Fatalf("the executor of tool: %v", err)
	}
}

func TestDeterministic(t *testing.T) {
	w := newOpsWorld(t, Agent{Name: "tool", Speaks: "tool"})
	w.runTool()
	alice := w.caller("alice")
	ask := func(id, contextID string, parts ...*a2a.Part) *a2a.SendMessageRequest {
		req := opsAt(id, "", contextID, "")
		req.Message.Parts = parts
		return req
	}
	data := func(v any) *a2a.Part { return a2a.NewDataPart(v) }
	task := w.send(alice, ask("m1", "", data(map[string]any{"n": 7})))
	opsState(t, task, a2a.TaskStateCompleted)
	if len(task.Artifacts) == 0 {
		t.Fatal("no artifact")
	}
	if task.History[0].ID != "m1" {
		t.Errorf("the first message is %q", task.History[0].ID)
	}
	if again := w.send(alice, ask("m1", "", data(map[string]any{"n": 7}))); again.ID != task.ID {
		t.Errorf("again: %s, not %s", again.ID, task.ID)
	}
	_, err := w.s.send(t.Context(), alice, ask("m1", "", data(map[string]any{"n": 8})))
	opsRefused(t, "other content", err, a2a.ErrInvalidParams)
	next := w.send(alice, ask("m2", task.ContextID, a2a.NewTextPart("hello")))
	if next.ContextID != task.ContextID || next.ID == task.ID {
		t.Errorf("the second task of a context is %s in %s", next.ID, next.ContextID)
	}
	own := w.send(alice, ask("m3", "mine", data(map[string]any{})))
	if own.ContextID != "mine" {
		t.Errorf("contextId is %q", own.ContextID)
	}
	if got := w.list(alice, &a2a.ListTasksRequest{ContextID: task.ContextID}); got.TotalSize != 2 {
		t.Errorf("the context has %v", opsIDs(got.Tasks))
	}
	if got := w.list(alice, &a2a.ListTasksRequest{}); got.TotalSize != 3 {
		t.Errorf("there are %v", opsIDs(got.Tasks))
	}
	_, err = w.s.send(t.Context(), w.caller("bob"), ask("m4", task.ContextID, a2a.NewTextPart("x")))
	opsRefused(t, "somebody else's context", err, a2a.ErrTaskNotFound)
	_, err = w.s.send(t.Context(), alice, ask("m5", "", data(map[string]any{"n": "x"})))
	if refused := (*parley.Error)(nil); !errors.As(err, &refused) || refused.Validation == nil {
		t.Errorf("wrong parameters: %v", err)
	}
	for _, parts := range [][]*a2a.Part{
		{data([]any{1})}, {data(map[string]any{}), data(map[string]any{})}, {data(map[string]any{}), a2a.NewTextPart("x")},
	} {
		_, err = w.s.send(t.Context(), alice, ask("m6", "", parts...))
		opsRefused(t, "parts that are no parameters", err, a2a.ErrInvalidParams)
	}
	_, err = w.s.send(t.Context(), alice, ask("m7", "", a2a.NewRawPart([]byte("x"))))
	opsRefused(t, "a file", err, a2a.ErrUnsupportedContentType)

	held := w.send(alice, opsAtOnce(ask("m8", "", data(map[string]any{"hold": true}))))
	_, err = w.s.send(t.Context(), alice, opsAt("m9", "x", "", held.ID))
	opsRefused(t, "a message to one that works", err, a2a.ErrUnsupportedOperation)
	canceled, err := w.cancel(alice, held.ID)
	if err != nil {
		t.Fatal(err)
	}
	opsState(t, canceled, a2a.TaskStateCanceled)
	_, err = w.cancel(alice, held.ID)
	opsRefused(t, "again", err, a2a.ErrTaskNotCancelable)
}
