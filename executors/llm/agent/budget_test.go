package agent_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/agent"
	"github.com/parleyhub/parley/executors/llm/record"
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

// A call that exceeds request_timeout is made again. idle_timeout is passed to the provider.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	for fields, stream := range map[string]bool{`"stream":true,`: true, `"stream":false,`: false} {
		n := 0
		w := newWorld(t, nil)
		w.vendor.answer = func(ctx context.Context, req *llm.Request) (*llm.Response, error) {
			if n++; n == 1 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return says("done"), nil
		}
		w.run(blueprint(`"run_options":{` + fields + `"idle_timeout":"7s","request_timeout":"1s"}`))
		w.completed(w.hello(), "done")
		if calls := w.vendor.calls(); len(calls) != 2 || calls[0].IdleTimeout != 7*time.Second {
			t.Errorf("streamed %t: asked with %+v", stream, calls)
		}
	}
	for _, bad := range []string{"soon", "10ms", "-3s", "25h", "90"} {
		refused(t, newWorld(t, nil), blueprint(`"run_options":{"request_timeout":"`+bad+`"}`), "request_timeout")
	}
}

// Failed calls count in the usage and against the budget, over all attempts.
func TestFailedCallsAreCounted(t *testing.T) {
	t.Parallel()
	fail := func(context.Context, *llm.Request) (*llm.Response, error) {
		return nil, &llm.ProviderError{Provider: "fake", Category: llm.CategoryNetwork, Retryable: true,
			RetryAfter: time.Millisecond, Usage: &llm.Usage{PromptTokens: 900, CompletionTokens: 100}}
	}
	for name, c := range map[string]struct {
		fields, reason, model string
		calls, tokens         int
	}{
		"no budget": {`"run_options":{"max_retries":1}`, "network", "", 6, 6000},
		"a budget":  {`"run_options":{"max_retries":0,"budget":{"tokens":2000}}`, agent.ReasonBudget, "", 2, 2000},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, fail)
			w.models = llm.Models{{Capabilities: llm.Capabilities{Price: &llm.Price{Input: 1e6, Output: 1e6}}}}
			w.run(blueprint(c.fields))
			s := w.hello()
			w.failed(s, c.reason)
			if n := len(w.vendor.calls()); n != c.calls {
				t.Errorf("the model was asked %d times, expected %d", n, c.calls)
			}
			all := w.traces(s.SessionID, record.KindUsage)
			var u struct {
				Usage   llm.Usage
				CostUSD float64 `json:"cost_usd"`
				Retries int     `json:"retry_count"`
				Failed  int     `json:"failed_calls"`
			}
			if err := json.Unmarshal(all[len(all)-1].Data, &u); err != nil || u.Usage.TotalTokens != int64(c.tokens) ||
				u.CostUSD != float64(c.tokens) || u.Retries+u.Failed != c.calls {
				t.Errorf("the usage is %s, %v", all[len(all)-1].Data, err)
			}
		})
	}
}

// A pause that the vendor asks for is kept by the next attempt too. A pause that is longer than the
// turn may last ends the session.
func TestVendorPauses(t *testing.T) {
	t.Parallel()
	const pause = 300 * time.Millisecond
	var failed time.Time
	w := newWorld(t, func(context.Context, *llm.Request) (*llm.Response, error) {
		if failed.IsZero() {
			failed = time.Now()
			return nil, &llm.ProviderError{Provider: "fake", Category: llm.CategoryRateLimit, Status: 429, Retryable: true,
				RetryAfter: pause}
		}
		if early := pause - time.Since(failed); early > time.Millisecond {
			t.Errorf("the vendor was asked %s early", early)
		}
		return says("done"), nil
	})
	w.run(blueprint(`"run_options":{"max_retries":0}`))
	w.completed(w.hello(), "done")

	w = newWorld(t, func(context.Context, *llm.Request) (*llm.Response, error) {
		return nil, &llm.ProviderError{Provider: "fake", Category: llm.CategoryRateLimit, Status: 429, Retryable: true,
			RetryAfter: time.Hour}
	})
	b := blueprint("")
	b.TimeoutMs = 60_000
	w.run(b)
	w.failed(w.hello(), "rate_limit")
	if n := len(w.vendor.calls()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}
