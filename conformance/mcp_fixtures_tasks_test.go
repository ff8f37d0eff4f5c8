package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/hub"
)

// workers are agents whose sessions are the tasks that the suite starts, by the names of the tools
// that it calls.
var workers = map[string]parley.AgentFunc{
	"slow_compute": func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		said, err := turn.Messages(ctx)
		if err != nil {
			return "", err
		}
		var asked struct{ Parameters struct{ Prompt string } }
		if err := json.Unmarshal(said[0].Payload, &asked); err != nil {
			return "", err
		}
		long, err := time.ParseDuration(asked.Parameters.Prompt + "s")
		if err != nil {
			return "", err
		}
		return ended(ctx, turn, long, parley.Outcome{Status: parley.OutcomeCompleted})
	},
	"failing_job": func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		return ended(ctx, turn, time.Second, parley.Outcome{Status: parley.OutcomeFailed, Reason: "it cannot be done"})
	},
	"confirm_delete": func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		said, err := turn.Messages(ctx)
		if err != nil {
			return "", err
		}
		if len(said) > 1 {
			return ended(ctx, turn, 0, parley.Outcome{Status: parley.OutcomeCompleted})
		}
		_, err = turn.Post(ctx, parley.Message{Text: "Really?"}, parley.FinalityTurn)
		return parley.TurnPosted, err
	},
}

// ended works for some time and ends the session.
func ended(ctx context.Context, turn *parley.Turn, after time.Duration, how parley.Outcome) (parley.TurnOutcome,
	error) {
	select {
	case <-time.After(after):
	case <-ctx.Done():
		return "", ctx.Err()
	}
	_, err := turn.Complete(ctx, parley.Message{Text: "It has ended."}, how)
	return parley.TurnPosted, err
}

// employ runs the workers at a hub until the returned function is called.
func employ(t *testing.T, h *hub.Hub) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, len(workers))
	for name, work := range workers {
		if _, err := h.RegisterAgent(parley.AgentInfo{Name: name, Type: parley.AgentTypeAgent,
			Description: "for the conformance suite"}); err != nil {
			t.Fatal(err)
		}
		client := h.Client(h.LocalPrincipal(name, parley.DefaultScopes...))
		go func() {
			defer client.Close()
			done <- executors.Run(ctx, client, work, &executors.Options{Drain: -1})
		}()
	}
	return func() {
		cancel()
		for range workers {
			if err := <-done; err != nil {
				t.Errorf("a worker: %v", err)
			}
		}
	}
}

// addTasks adds the tools of the suite that are tasks: a call of one is a call of
// start_agent_session.
func addTasks(s *protocol.Server) {
	protocol.AddTool(s, &protocol.Tool{Name: "greet", Description: "for the conformance suite"},
		func(_ context.Context, _ *toolCall, in struct {
			Name string `json:"name"`
		}) (*protocol.CallToolResult, any, error) {
			return result(text("Hello, " + in.Name + "!")), nil, nil
		})
	s.AddReceivingMiddleware(func(next protocol.MethodHandler) protocol.MethodHandler {
		return func(ctx context.Context, method string, req protocol.Request) (protocol.Result, error) {
			call, ok := req.(*toolCall)
			if !ok || workers[call.Params.Name] == nil {
				return next(ctx, method, req)
			}
			var in struct{ Seconds float64 }
			if err := json.Unmarshal(call.Params.Arguments, &in); err != nil {
				return nil, err
			}
			raw, err := json.Marshal(map[string]string{"agent_name": call.Params.Name,
				"prompt": strings.TrimSpace(fmt.Sprint(in.Seconds))})
			if err != nil {
				return nil, err
			}
			session, params := *call, *call.Params
			params.Name, params.Arguments = "start_agent_session", raw
			session.Params = &params
			return next(ctx, method, &session)
		}
	})
}
