package agent_test

import (
	"context"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/agent"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// These tests of limits continue fields_test.go.

func TestBudgetTokens(t *testing.T) {
	t.Parallel()
	big := func(text string, tokens int64) *llm.Response {
		r := says(text)
		r.Usage = &llm.Usage{PromptTokens: tokens, TotalTokens: tokens}
		return r
	}
	first := big("Let me see.", 5000)
	first.ToolCalls, first.Finish = wants("add", `{}`).ToolCalls, llm.FinishToolCalls
	for name, c := range map[string]struct {
		fields string
		check  func(w *world, s *parley.Session)
		calls  int
	}{
		"abort": {`"run_options":{"budget":{"tokens":5000}}`,
			func(w *world, s *parley.Session) { w.failed(s, agent.ReasonBudget) }, 1},
		"partial": {`"run_options":{"budget":{"tokens":5000,"on_exceeded":"partial"}}`, func(w *world, s *parley.Session) {
			w.completed(s, "Let me see.")
			if s.Reason != agent.TagPartial {
				w.Errorf("the reason is %q", s.Reason)
			}
		}, 1},
		"enough": {`"run_options":{"budget":{"tokens":50000}}`, func(w *world, s *parley.Session) { w.completed(s, "done") },
			2},
		"passed": {`"run_options":{"budget":{"tokens":4000}}`,
			func(w *world, s *parley.Session) { w.failed(s, agent.ReasonBudget) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, inTurn(first, says("done")))
			w.options.Functions = []tool.Tool{&adder{name: "add"}}
			w.run(blueprint(`"tools":["add"],` + c.fields))
			c.check(w, w.hello())
			if n := len(w.vendor.calls()); n != c.calls {
				t.Errorf("the model was asked %d times", n)
			}
		})
	}
}

func TestBudgetMs(t *testing.T) {
	t.Parallel()
	slow := func(ctx context.Context, _ *llm.Request) (*llm.Response, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	w := newWorld(t, slow)
	stop := w.run(blueprint(`"run_options":{"budget":{"ms":100}}`))
	w.failed(w.hello(), agent.ReasonBudget)
	stop()
	stop = w.run(blueprint(`"run_options":{"budget":{"ms":100,"on_exceeded":"partial"}}`))
	w.completed(w.hello(), agent.PartialMessage)
	stop()
	// The time budget also limits tools.
	add := &adder{name: "add", do: func(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	w.vendor.answer = inTurn(wants("add", `{}`), says("done"))
	w.options.Functions = []tool.Tool{add}
	w.run(blueprint(`"tools":["add"],"run_options":{"budget":{"ms":3000}}`))
	w.failed(w.hello(), agent.ReasonBudget)
	if len(add.ran()) != 1 {
		t.Error("the tool did not run")
	}
}

// TestTimeout has a timeout_ms in the blueprint.
func TestTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(ctx context.Context, _ *llm.Request) (*llm.Response, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	b := blueprint("")
	b.TimeoutMs = 100
	w.run(b)
	w.failed(w.hello(), agent.ReasonTimeout)
}
