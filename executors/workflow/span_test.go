package workflow_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/function"
	"github.com/parleyhub/parley/executors/work"
	"github.com/parleyhub/parley/internal/spannames"
	"github.com/parleyhub/parley/internal/spantest"
	"github.com/parleyhub/parley/internal/worktest"
)

// Each step is a span with all its attempts. The spans of its session are below it.
func TestSpans(t *testing.T) {
	const asker = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	w, c, r := worktest.New(t), newCast(t), &spantest.Recorder{}
	c.do("echo", echo)
	c.do("deny", func(context.Context, *work.Job) (any, error) {
		return nil, &function.Error{Reason: "no", Text: "a secret"}
	})
	c.flow("flow",
		`[{"name":"first","agent":"echo","input":{"n":1}},{"name":"second","agent":"deny","on_error":"retry(1)"}]`, ``)
	w.Serve(worktest.Mux{"flow": tracing(c.all["flow"], r), "echo": tracing(c.all["echo"], r), "deny": c.all["deny"]},
		c.blueprints...)
	s, err := w.Ann.StartSession(t.Context(),
		&parley.StartSessionParams{AgentName: "flow", Parameters: json.RawMessage(`{}`),
			TimeoutMs: worktest.Patience.Milliseconds(), Traceparent: asker})
	if err != nil || s.Status != parley.SessionFailed {
		t.Fatalf("%s, %v", worktest.Indent(s), err)
	}
	w.Stop()
	want := "flow\n  parley.step first first flow echo\n    echo\n  parley.step second second flow deny !failed\n"
	if got := r.Tree(asker, spannames.AttrStepName, spannames.AttrGenAIWorkflowName, spannames.AttrGenAIAgentName); got != want {
		t.Errorf("the spans are\n%sexpected\n%s", got, want)
	}
	for _, s := range r.Named("parley.step first") {
		if id, _ := s.Attributes[spannames.AttrChildConversationID].(string); len(id) < 5 || id[:4] != "ses_" {
			t.Errorf("the step started %q", id)
		}
	}
}

// tracing records the spans of an agent's turns.
func tracing(a parley.Agent, r *spantest.Recorder) parley.Agent {
	return parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		ctx, span := parley.StartSpan(parley.WithTracer(ctx, r), parley.SpanStart{Name: turn.Agent})
		defer span.End()
		return a.HandleTurn(ctx, turn)
	})
}
