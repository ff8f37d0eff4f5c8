package agent_test

import (
	"context"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/agent"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/internal/limits"
)

// TestDefaultSteps has a model that always calls a tool.
func TestDefaultSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(context.Context, *llm.Request) (*llm.Response, error) { return wants("add", `{"n":1}`), nil })
	w.options.Functions = []tool.Tool{&adder{name: "add"}}
	w.run(blueprint(`"tools":["add"]`))
	w.failed(w.hello(), agent.ReasonBudget)
	if n := len(w.vendor.calls()); n != limits.DefaultMaxSteps {
		t.Errorf("the model was asked %d times, expected %d", n, limits.DefaultMaxSteps)
	}
}

// TestDefaultRetries has a vendor that always fails. The retries are counted in each attempt.
func TestDefaultRetries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(context.Context, *llm.Request) (*llm.Response, error) {
		return nil, &llm.ProviderError{Provider: "fake", Category: llm.CategoryServer, Status: 500, Retryable: true,
			RetryAfter: time.Millisecond}
	})
	w.run(blueprint(""))
	s, err := w.person.StartSession(t.Context(),
		&parley.StartSessionParams{AgentName: "bot", Prompt: "x", TimeoutMs: 60_000})
	if err != nil || s.Status != parley.SessionFailed {
		t.Fatalf("%+v, %v", s, err)
	}
	if n, want := len(w.vendor.calls()), (1+limits.DefaultMaxRetries)*limits.DefaultMaxAttempts; n != want {
		t.Errorf("the model was asked %d times, expected %d", n, want)
	}
}

// Tool calls of the planner count in max_tool_calls.
func TestPlannersToolCalls(t *testing.T) {
	t.Parallel()
	add := &adder{name: "add"}
	w := newWorld(t, func(_ context.Context, req *llm.Request) (*llm.Response, error) {
		answered := 0
		for _, m := range req.Messages {
			answered += len(m.Results)
		}
		switch {
		case phase(req) == record.PhasePlan && answered == 1:
			return says("1. add once more"), nil
		case answered == 1:
			return says("done"), nil
		}
		return wants("add", `{"n":1}`), nil
	})
	w.options.Functions = []tool.Tool{add}
	stop := w.run(blueprint(`"tools":["add"],"planning_enabled":true,"run_options":{"max_tool_calls":2}`))
	w.completed(w.hello(), "done")
	stop()
	w.run(blueprint(`"tools":["add"],"planning_enabled":true,"run_options":{"max_tool_calls":1}`))
	w.failed(w.hello(), agent.ReasonBudget)
}
