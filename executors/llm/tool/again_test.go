package tool_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// The next attempt reads recorded results. It repeats an interrupted call only if that is safe, and
// runs calls that were not started.
func TestNextAttempt(t *testing.T) {
	w := newWorld(t)
	var keys []string
	r := &ran{}
	repeated := function(t, "repeated", func(_ context.Context, c *tool.Call) (*tool.Result, error) {
		keys = append(keys, c.Key)
		return &tool.Result{Text: "again"}, nil
	})
	b := w.box(tool.Options{
		Functions: []tool.Tool{r.tool(t, "once"), tool.AsRepeatable(repeated)},
		Config:    &parley.AgentConfig{Tools: []string{"once", "repeated"}},
	})
	calls := []llm.ToolCall{call("a", "once", `{"x":"ended"}`), call("b", "once", `{"x":"begun"}`),
		call("c", "repeated", `{"x":"begun"}`), call("d", "once", `{"x":"new"}`), call("e", "gone", `{}`)}
	w.attempt(false, func(ctx context.Context, turn *parley.Turn) {
		l, err := record.Open(ctx, turn)
		if err != nil {
			t.Fatal(err)
		}
		start := func(i int) error {
			return l.Start(
				ctx, &record.ToolStarted{Key: fmt.Sprintf("execute.1.%d", i), Phase: record.PhaseExecute, CallID: calls[i].ID,
					Tool: calls[i].Name, Arguments: []byte(calls[i].Arguments)})
		}
		if err := errors.Join(start(0), start(1), start(2), start(4),
			l.End(ctx, &record.ToolEnded{Key: "execute.1.0", Phase: record.PhaseExecute, CallID: "a", Tool: "once",
				Text: "before", Success: true})); err != nil {
			t.Fatal(err)
		}
	})
	var results []llm.ToolResult
	for i, last := range []bool{false, true} {
		w.attempt(last, func(ctx context.Context, turn *parley.Turn) { results = w.run(ctx, turn, b, calls...) })
		want(t, "what ran", fmt.Sprint(r.all(), keys), fmt.Sprintf(`[{"x":"new"}] [%s.1.execute.1.2]`, w.id))
		for j, text := range []string{"before", "An earlier attempt of this turn started once", "again", "ran",
			"An earlier attempt of this turn started gone"} {
			contains(t, fmt.Sprintf("attempt %d, call %d", i+2, j), results[j].Text, text)
		}
	}
	for _, id := range []string{"b", "e"} {
		if m := w.ended(id)["metadata"].(map[string]any); m["status"] != "interrupted" || !results[1].IsError {
			t.Errorf("%s: %v", id, m)
		}
	}
}

// When ctx is done, Run fails with its cause and ignores errors of tools that result from it.
// Results that arrive all the same are recorded.
func TestEnded(t *testing.T) {
	w := newWorld(t)
	cause := errors.New("the time is over")
	both := make(chan struct{}, 2)
	b := w.box(tool.Options{
		Functions: []tool.Tool{
			function(t, "done", func(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
				both <- struct{}{}
				<-ctx.Done()
				return &tool.Result{Text: "done"}, nil
			}),
			function(t, "cut", func(ctx context.Context, _ *tool.Call) (*tool.Result, error) {
				both <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			}),
		},
		Config: &parley.AgentConfig{Tools: []string{"done", "cut"}},
	})
	calls := []llm.ToolCall{call("a", "done", "{}"), call("b", "cut", "{}")}
	w.attempt(false, func(ctx context.Context, turn *parley.Turn) {
		ctx, end := context.WithCancelCause(ctx)
		go func() {
			<-both
			<-both
			end(cause)
		}()
		if _, err := w.try(ctx, turn, b, calls...); !errors.Is(err, cause) {
			t.Errorf("Run: %v", err)
		}
	})
	var texts []string
	w.attempt(true, func(ctx context.Context, turn *parley.Turn) {
		for _, r := range w.run(ctx, turn, b, calls...) {
			texts = append(texts, r.Text)
		}
	})
	if !slices.Equal(texts[:1], []string{"done"}) {
		t.Errorf("the next attempt reads %q", texts)
	}
	contains(t, "the next attempt", texts[1], "may or may not have taken effect")
}
