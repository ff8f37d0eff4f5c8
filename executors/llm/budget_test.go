package llm_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/executors/llm"
)

func tooMany(n int) answer {
	var c []llm.Chunk
	for i := range n {
		c = append(c, begins(i, "", "look", "{}"))
	}
	return answer{chunks: c}
}

func TestBudgets(t *testing.T) {
	used := func(total int64, finish llm.FinishReason) answer {
		return answer{
			resp: &llm.Response{Text: "much", Finish: finish,
				Usage: &llm.Usage{PromptTokens: 9, CompletionTokens: total - 9, TotalTokens: total}}}
	}
	for _, c := range []struct {
		name   string
		budget llm.Budget
		calls  int
		answer answer
		stream bool
		// what is empty for a whole answer. text is the partial answer.
		what  string
		text  string
		asked int
	}{
		{"within", llm.Budget{Tokens: 100}, 0, says("little"), true, "", "little", 1},
		{"the prompt alone", llm.Budget{Tokens: 9}, 0, says("little"), true, "tokens", "", 0},
		{"in a stream", llm.Budget{Tokens: 12}, 0, says("one ", "two ", "three ", "four ", "five"), true, "tokens",
			"one two three four ", 1},
		{"by length", llm.Budget{Tokens: 12}, 0, used(12, llm.FinishLength), false, "tokens", "much", 1},
		{"by what the vendor tells", llm.Budget{Tokens: 12}, 0, used(13, llm.FinishStop), false, "tokens", "much", 1},
		{"in time", llm.Budget{Time: time.Second}, 0, says("little"), true, "", "little", 1},
		{"out of time", llm.Budget{Time: time.Second}, 0, answer{chunks: texts("one ", "two"), hang: true}, true, "ms",
			"one two", 1},
		{"out of time before anything has come", llm.Budget{Time: time.Second}, 0, answer{hang: true}, true, "ms", "", 1},
		{"out of time, not streamed", llm.Budget{Time: time.Second}, 0, answer{hang: true}, false, "ms", "", 1},
		{"calls of tools", llm.Budget{}, 2, tooMany(2), true, "", "", 1},
		{"too many calls of tools", llm.Budget{}, 2, tooMany(3), true, "max_tool_calls", "", 1},
	} {
		for _, partial := range []bool{false, true} {
			t.Run(c.name+map[bool]string{true: ", partial"}[partial], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a := &answers{all: []answer{c.answer}}
					r := a.runtime(nil)
					c.budget.Partial = partial
					p := prepare(t, r, &llm.Definition{Model: "m"},
						&llm.Options{Budget: c.budget, MaxToolCalls: c.calls, MaxRetries: 3,
							Streaming: llm.StreamingOptions{Every: 10 * time.Second}})
					h := &heard{t: t}
					run := func() (*llm.Result, error) { return r.Run(t.Context(), p, question("hi")) }
					if c.stream {
						run = func() (*llm.Result, error) { return r.RunStream(t.Context(), p, question("hi"), h.sink) }
					}
					got, err := run()
					if c.stream {
						h.whole(err)
						if got != nil && h.text != got.Content {
							t.Errorf("the deltas say %q, and the result %q", h.text, got.Content)
						}
					}
					if len(a.asked) != c.asked {
						t.Errorf("%d calls: expected %d", len(a.asked), c.asked)
					}
					cut := partial && (c.text != "" || c.calls > 0)
					switch over := (*llm.BudgetError)(nil); {
					case c.what == "":
						if err != nil || got.Status != llm.StatusComplete {
							t.Errorf("result %+v, error %v: expected a whole one", got, err)
						}
					case cut:
						if err != nil || got.Status != llm.StatusPartial || got.Content != c.text || len(got.ToolCalls) != c.calls ||
							len(got.Message.ToolCalls) != c.calls || got.Message.Text != c.text {
							t.Errorf("result %+v, error %v: expected %q, partial", got, err, c.text)
						}
					case !errors.As(err, &over) || over.What != c.what || over.Used < over.Limit || !errors.Is(err, llm.ErrBudget):
						t.Errorf("error %v: expected a BudgetError of %s", err, c.what)
					case errors.Is(err, llm.ErrProvider) || errors.Is(err, context.DeadlineExceeded):
						t.Errorf("error %v: expected no fault of the provider", err)
					case c.asked > 0 && (got == nil || c.text != "" && got.Usage.TotalTokens == 0):
						t.Errorf("result %+v: expected what came, with the error", got)
					}
				})
			})
		}
	}
}

// TestBudgetCountsRetries has streams that break repeatedly. Their tokens count.
func TestBudgetCountsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{all: []answer{breaks("one two three")}}
		r := a.runtime(nil)
		p := prepare(t, r, &llm.Definition{Model: "m"}, &llm.Options{MaxRetries: 100, Budget: llm.Budget{Tokens: 40}})
		_, err := r.RunStream(t.Context(), p, question("hi"), nil)
		var over *llm.BudgetError
		if !errors.As(err, &over) || over.Used != 36 || len(a.asked) != 3 {
			t.Errorf("error %v after %d calls: expected 3 calls of 12 tokens, as the fourth would pass the budget", err,
				len(a.asked))
		}
	})
}

func TestDeadlineOfCallerIsNoBudgetError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{all: []answer{{chunks: texts("one"), hang: true}}}
		r := a.runtime(nil)
		p := prepare(t, r, &llm.Definition{Model: "m"},
			&llm.Options{MaxRetries: 3, Budget: llm.Budget{Time: time.Hour, Partial: true}})
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, &llm.BudgetError{What: "ms"}) // deadline of a whole turn
		defer cancel()
		h := &heard{t: t}
		got, err := r.RunStream(ctx, p, question("hi"), h.sink)
		if got.Content != "" || got.Usage.TotalTokens != 10 || !errors.Is(err, context.DeadlineExceeded) ||
			errors.Is(err, llm.ErrBudget) || len(a.asked) != 1 {
			t.Errorf("result %+v, error %v: expected that of the context", got, err)
		}
		h.whole(err)
	})
}

// TestFailedRunIsCounted has runs without an answer. Their usage is estimated if the vendor
// reported none. A call that the vendor refused is free.
func TestFailedRunIsCounted(t *testing.T) {
	failed := func(e llm.ProviderError, said ...string) answer {
		e.Provider = "fake"
		return answer{chunks: texts(said...), err: &e}
	}
	for name, c := range map[string]struct {
		answer answer
		want   llm.Usage
	}{
		"refused": {failed(llm.ProviderError{Category: llm.CategoryRateLimit, Status: 429}), llm.Usage{}},
		"broken":  {breaks("one two three"), llm.Usage{PromptTokens: 9, CompletionTokens: 3, TotalTokens: 12}},
		"silent": {failed(llm.ProviderError{Category: llm.CategoryTimeout}),
			llm.Usage{PromptTokens: 9, TotalTokens: 9}},
		"a late gateway": {failed(llm.ProviderError{Category: llm.CategoryTimeout, Status: 504}), llm.Usage{}},
		"no connection":  {failed(llm.ProviderError{Category: llm.CategoryNetwork}), llm.Usage{}},
		"reported": {failed(llm.ProviderError{Category: llm.CategoryServer,
			Usage: &llm.Usage{PromptTokens: 7, CompletionTokens: 5}}, "one"),
			llm.Usage{PromptTokens: 7, CompletionTokens: 5, TotalTokens: 12}},
		"partly reported": {failed(llm.ProviderError{Category: llm.CategoryNetwork,
			Usage: &llm.Usage{PromptTokens: 7, CompletionTokens: 1}}, "one two"),
			llm.Usage{PromptTokens: 7, CompletionTokens: 2, TotalTokens: 9}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, m := &answers{all: []answer{c.answer}}, &llm.Meter{}
				r := a.runtime(llm.Models{{Capabilities: llm.Capabilities{Price: &llm.Price{Input: 1e6, Output: 1e6}}}})
				p := prepare(t, r, &llm.Definition{Model: "m"}, &llm.Options{Meter: m})
				h := &heard{t: t}
				got, err := r.RunStream(t.Context(), p, question("hi"), h.sink)
				h.whole(err)
				if err == nil || got == nil {
					t.Fatalf("result %+v, error %v", got, err)
				}
				if u := got.Usage; u.PromptTokens != c.want.PromptTokens || u.CompletionTokens != c.want.CompletionTokens ||
					u.TotalTokens != c.want.TotalTokens || *got.CostUSD != float64(c.want.TotalTokens) {
					t.Errorf("usage %+v, cost %v: expected %+v", u, *got.CostUSD, c.want)
				}
				counted := strings.Contains(strings.Join(lines(m), "\n"), "parley_llm_tokens_total")
				if counted != (c.want.TotalTokens > 0) {
					t.Errorf("the metrics are %q", lines(m))
				}
			})
		})
	}
}

// TestRequestTimeout has a call that exceeds its bound, and is made again.
func TestRequestTimeout(t *testing.T) {
	for _, limit := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			a := &answers{all: []answer{{chunks: texts("one"), hang: true}, says("one", " two")}}
			r := a.runtime(nil)
			p := prepare(t, r, &llm.Definition{Model: "m"}, &llm.Options{MaxRetries: 1, RequestTimeout: limit,
				Retry: llm.Retry{Min: 1, Max: 1}})
			began := time.Now()
			h := &heard{t: t}
			got, err := r.RunStream(t.Context(), p, question("hi"), h.sink)
			took := time.Since(began).Truncate(time.Second)
			if err != nil || got.Content != "one two" || h.text != "one two" ||
				took != cmp.Or(limit, llm.DefaultRequestTimeout) {
				t.Errorf("%v, %v after %s", got, err, took)
			}
			if !got.Usage.Estimated || got.Usage.PromptTokens != 18 {
				t.Errorf("the usage is %+v", got.Usage)
			}
			if idle := a.asked[0].IdleTimeout; idle != llm.DefaultIdleTimeout {
				t.Errorf("the idle timeout is %s", idle)
			}
		})
	}
}

// Tokens of a broken stream are part of the usage, and are subtracted from the budget of the next
// call.
func TestBrokenStreamIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{all: []answer{breaks("one two three"), {chunks: texts("one two three"), resp: &llm.Response{
			Text: "one two three", Finish: llm.FinishStop,
			Usage: &llm.Usage{PromptTokens: 9, CompletionTokens: 3, TotalTokens: 12},
		}}}}
		r := a.runtime(llm.Models{{Capabilities: llm.Capabilities{Price: &llm.Price{Input: 1e6, Output: 1e6}}}})
		p := prepare(t, r, &llm.Definition{Model: "m"}, &llm.Options{MaxRetries: 1, Budget: llm.Budget{Tokens: 40}})
		got, err := r.RunStream(t.Context(), p, question("hi"), nil)
		if err != nil || len(a.asked) != 2 {
			t.Fatal(err, len(a.asked))
		}
		if want := (llm.Usage{PromptTokens: 18, CompletionTokens: 6, TotalTokens: 24, Estimated: true}); got.Usage != want ||
			*got.CostUSD != 24 {
			t.Errorf("usage %+v, cost %v: expected %+v", got.Usage, *got.CostUSD, want)
		}
		if first, then := a.asked[0].MaxTokens, a.asked[1].MaxTokens; first != 31 || then != 31-12 {
			t.Errorf("asked for %d and then %d tokens", first, then)
		}
	})
}

func TestBudgetBelowMinOutputTokens(t *testing.T) {
	for budget, fits := range map[int64]bool{24: false, 25: true} {
		a := &answers{all: []answer{says("ok")}}
		r := a.runtime(llm.Models{{Capabilities: llm.Capabilities{MinOutputTokens: 16}}})
		p := prepare(t, r, &llm.Definition{Model: "m"}, &llm.Options{Budget: llm.Budget{Tokens: budget}})
		_, err := r.Run(t.Context(), p, question("hi"))
		if fits != (err == nil) || !fits && (!errors.Is(err, llm.ErrBudget) || len(a.asked) != 0) {
			t.Errorf("a budget of %d: %v after %d calls", budget, err, len(a.asked))
		}
	}
}
