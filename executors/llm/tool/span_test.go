package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/internal/spannames"
	"github.com/parleyhub/parley/internal/spantest"
)

const asker = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// tracedRun runs calls in their own attempt and records the spans.
func (w *world) tracedRun(r *spantest.Recorder, b *tool.Box, calls ...llm.ToolCall) {
	w.Helper()
	w.attempts(func(ctx context.Context, turn *parley.Turn) {
		w.run(parley.WithTracer(parley.WithTraceparent(ctx, asker), r), turn, b, calls...)
	})
}

// A call is one span with its outcome and no content. Spans of the tool and of the approval are
// below it.
func TestSpans(t *testing.T) {
	const secret = "a secret"
	for name, c := range map[string]struct {
		call llm.ToolCall
		want string
	}{
		"done": {call("c1", "look", `{"x":"a secret"}`), "execute_tool look execute_tool look c1 function\n  inside\n"},
		"failed": {call("c1", "fail", `{"x":"a secret"}`),
			"execute_tool fail execute_tool fail c1 function !tool_error\n"},
		"panic":     {call("c1", "panic", `{}`), "execute_tool panic execute_tool panic c1 function !tool_error\n"},
		"unknown":   {call("c1", "nothing", `{}`), "execute_tool nothing execute_tool nothing c1 function !unknown_tool\n"},
		"arguments": {call("c1", "look", `{"x":5}`), "execute_tool look execute_tool look c1 function !tool_error\n"},
		"approved": {call("c1", "deploy", `{}`),
			"execute_tool deploy execute_tool deploy c1 function\n  approval approved\n  inside\n"},
		"rejected": {call("c1", "deploy", `{"x":"no"}`),
			"execute_tool deploy execute_tool deploy c1 function !rejected\n  approval rejected\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newWorld(t), &spantest.Recorder{}
			w.between = func(c parley.Client) parley.Client {
				status := parley.ApprovalApproved
				if name == "rejected" {
					status = parley.ApprovalRejected
				}
				return &doubtful{Client: c, status: status}
			}
			does := func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
				_, span := parley.StartSpan(ctx, parley.SpanStart{Name: "inside"})
				span.End()
				return &tool.Result{Text: secret}, nil
			}
			w.tracedRun(r, w.box(tool.Options{
				Functions: []tool.Tool{
					function(t, "look", does), function(t, "deploy", does),
					function(t, "fail", func(context.Context, *tool.Call) (*tool.Result, error) { return nil, errors.New(secret) }),
					function(t, "panic", func(context.Context, *tool.Call) (*tool.Result, error) { panic(secret) }),
				},
				Config: &parley.AgentConfig{Tools: []string{"look", "deploy", "fail", "panic"}, HITLTools: []string{"deploy"}},
			}), c.call)
			got := r.Tree(asker, spannames.AttrGenAIOperationName, spannames.AttrGenAIToolName, spannames.AttrGenAIToolCallID,
				spannames.AttrGenAIToolType, spannames.AttrApprovalDecision)
			if got != c.want {
				t.Errorf("the spans are\n%sexpected\n%s", got, c.want)
			}
			if strings.Contains(fmt.Sprint(r.Spans()), secret) {
				t.Errorf("the spans have content: %+v", r.Spans())
			}
		})
	}
}

// A call with a recorded end is not run again, and has no span.
func TestRecordedCallHasNoSpan(t *testing.T) {
	w, r := newWorld(t), &spantest.Recorder{}
	b := w.box(tool.Options{Functions: []tool.Tool{echo(t, "look")}, Config: &parley.AgentConfig{Tools: []string{"look"}}})
	attempt := func(ctx context.Context, turn *parley.Turn) {
		w.run(parley.WithTracer(ctx, r), turn, b, call("c1", "look", `{}`))
	}
	w.attempts(attempt, attempt)
	if n := len(r.Named("execute_tool look")); n != 1 {
		t.Errorf("%d spans of calls", n)
	}
}

// The span of a call fails with the reason why the turn cannot continue.
func TestSpanOfLostTurn(t *testing.T) {
	w, r := newWorld(t), &spantest.Recorder{}
	b := w.box(tool.Options{
		Functions: []tool.Tool{
			function(t, "wait",
				func(ctx context.Context, _ *tool.Call) (*tool.Result, error) { <-ctx.Done(); return nil, ctx.Err() })},
		Config: &parley.AgentConfig{Tools: []string{"wait"}},
	})
	w.attempts(func(ctx context.Context, turn *parley.Turn) {
		l, err := record.Open(ctx, turn)
		if err != nil {
			t.Error(err)
			return
		}
		over, end := context.WithCancelCause(parley.WithTracer(ctx, r))
		end(parley.ErrClaimLost)
		if _, err := b.Run(
			over, &tool.Round{Turn: turn, Record: l, Phase: record.PhaseExecute, Step: 1,
				Calls: []llm.ToolCall{call("c1", "wait", `{}`)}}); !errors.Is(err, parley.ErrClaimLost) {
			t.Errorf("the round ended with %v", err)
		}
	})
	if all := r.Spans(); len(all) != 1 || all[0].Failure != "claim_lost" || all[0].Ends != 1 {
		t.Errorf("the spans are %+v", all)
	}
}

// Arguments and results are set on request.
func TestContent(t *testing.T) {
	w, r := newWorld(t), &spantest.Recorder{TellContent: true}
	w.tracedRun(
		r, w.box(tool.Options{Functions: []tool.Tool{echo(t, "look")}, Config: &parley.AgentConfig{Tools: []string{"look"}}}),
		call("c1", "look", `{"x":"y"}`))
	all := r.Named("execute_tool look")
	if len(all) != 1 || all[0].Attributes[spannames.AttrGenAIToolCallArguments] != `{"x":"y"}` ||
		all[0].Attributes[spannames.AttrGenAIToolCallResult] != `{"x":"y"}` {
		t.Errorf("the spans are %+v", all)
	}
}

// A session that a tool starts is part of its span.
func TestSpanOfSession(t *testing.T) {
	w, r := newWorld(t), &spantest.Recorder{}
	under := make(chan string, 1)
	w.serve(parley.Blueprint{Name: "helper"}, "run-1",
		func(ctx context.Context, _ *parley.Turn, _ json.RawMessage) *parley.SessionResult {
			under <- parley.TraceparentOf(ctx)
			return textResult("done")
		})
	w.tracedRun(r, w.box(tool.Options{Config: &parley.AgentConfig{Agents: []string{"helper"}}}),
		call("c1", "helper", `{"prompt":"x"}`))
	all := r.Named("execute_tool helper")
	if got := <-under; len(all) != 1 || got != all[0].Traceparent {
		t.Errorf("the session continues under %q, and the spans are %+v", got, all)
	}
}
