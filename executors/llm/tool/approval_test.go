package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// ran is a tool that records its arguments.
type ran struct {
	mu  sync.Mutex // guards the field below
	got []string
}

func (r *ran) tool(t testing.TB, name string) tool.Tool {
	return function(t, name, func(_ context.Context, c *tool.Call) (*tool.Result, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got = append(r.got, string(c.Arguments))
		return &tool.Result{Text: "ran"}, nil
	})
}

func (r *ran) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.got)
	return slices.Clone(r.got)
}

// gated returns a box with a tool deploy that needs approval, and a tool look that does not.
func (w *world) gated(r *ran, timeoutMs int64) *tool.Box {
	return w.box(tool.Options{
		Functions: []tool.Tool{r.tool(w, "deploy"), echo(w, "look")},
		Config: &parley.AgentConfig{
			Tools: []string{"deploy", "look"}, HITLTools: []string{"deploy"}, HITLTimeoutMs: timeoutMs,
			InjectedToolArgs: map[string]string{"origin": "who"},
		},
	})
}

// ended returns the recorded end of a call.
func (w *world) ended(id string) map[string]any {
	w.Helper()
	for _, tr := range w.traces("llm_tool_result") {
		if tr.Data["call_id"] == id {
			return tr.Data
		}
	}
	w.Fatalf("call %s has no end", id)
	return nil
}

// A tool of hitl_tools runs only after an approval, and with the approved arguments.
func TestApproval(t *testing.T) {
	for name, row := range map[string]struct {
		answer           parley.ResolveApprovalParams
		timeoutMs        int64
		got              string
		text             string
		status, approval string
	}{
		"approved": {parley.ResolveApprovalParams{Decision: parley.DecisionApproved}, 0, `[{"x":"prod"}]`, "ran", "success",
			"approved"},
		"edited": {
			parley.ResolveApprovalParams{Decision: parley.DecisionApproved, Answer: json.RawMessage(`{"x":"test"}`)}, 0,
			`[{"x":"test"}]`, "[The approver changed the arguments to {\"x\":\"test\"}]\nran", "success",
			"approved"},
		"same": {
			parley.ResolveApprovalParams{Decision: parley.DecisionApproved, Answer: json.RawMessage(`{"x" : "prod"}`)}, 0,
			`[{"x":"prod"}]`, "ran", "success", "approved"},
		"rejected": {parley.ResolveApprovalParams{Decision: parley.DecisionRejected, Comment: "not on Friday"}, 0, `[]`,
			"deploy was not run: ann has rejected it: not on Friday.", "rejected", "rejected"},
		"timed out": {parley.ResolveApprovalParams{}, 100, `[]`, "deploy was not run, because the approval timed out.",
			"timed_out", "timed_out"},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newWorld(t), &ran{}
			b := w.gated(r, row.timeoutMs)
			asked := make(chan parley.Approval, 1)
			w.later(func() {
				if row.answer.Decision == "" {
					asked <- parley.Approval{}
					return
				}
				a := w.pending(1)[0]
				asked <- a
				row.answer.ApprovalID = a.ApprovalID
				w.answer(row.answer)
			})
			results := w.once(b, call("c1", "deploy", `{"x":"prod","origin":"ui"}`))
			want(t, "what the tool got", fmt.Sprint(r.all()), row.got)
			want(t, "what the model reads", results[0].Text, row.text)
			m := w.ended("c1")["metadata"].(map[string]any)
			want(t, "the record", fmt.Sprintf("%v %v", m["status"], m["approval_status"]), row.status+" "+row.approval)
			if id, _ := m["approval_id"].(string); !strings.HasPrefix(id, w.id+".") {
				t.Errorf("the approval is %q", id)
			}
			a := <-asked
			if a.ApprovalID == "" {
				return
			}
			want(t, "the title", a.Title, "bot wants to run deploy")
			want(t, "the details", string(a.Details),
				`{"tool":"deploy","arguments":{"x":"prod"},"injected_args":{"origin":"ui"},"agent":"bot"}`)
			if len(a.Key) > parley.MaxKeyBytes || !strings.HasPrefix(a.Key, "execute.1.0.deploy.") {
				t.Errorf("the key is %q", a.Key)
			}
		})
	}
}

// The key for the longest names has a valid length.
func TestApprovalKey(t *testing.T) {
	w, r := newWorld(t), &ran{}
	long := strings.Repeat("n", 64)
	b := w.box(tool.Options{Name: strings.Repeat("b", 64), Functions: []tool.Tool{r.tool(t, long)},
		Config: &parley.AgentConfig{Tools: []string{long}, HITLTools: []string{long}}})
	w.later(func() {
		w.answer(parley.ResolveApprovalParams{ApprovalID: w.pending(1)[0].ApprovalID, Decision: parley.DecisionApproved})
	})
	if results := w.once(b, call("c", long, "{}")); results[0].Text != "ran" {
		t.Error(results)
	}
}

// While one tool waits for an approval, the others of its round run. Two equal calls are two
// approvals.
func TestApprovalDoesNotBlockOtherCalls(t *testing.T) {
	w, r := newWorld(t), &ran{}
	looked := make(chan struct{})
	look := function(t, "look", func(context.Context, *tool.Call) (*tool.Result, error) {
		close(looked)
		return &tool.Result{Text: "seen"}, nil
	})
	b := w.box(tool.Options{Functions: []tool.Tool{r.tool(t, "deploy"), look},
		Config: &parley.AgentConfig{Tools: []string{"deploy", "look"}, HITLTools: []string{"deploy"}}})
	w.later(func() {
		<-looked
		for i, a := range w.pending(2) {
			w.answer(parley.ResolveApprovalParams{ApprovalID: a.ApprovalID,
				Decision: []parley.ApprovalDecision{parley.DecisionApproved, parley.DecisionRejected}[i]})
		}
	})
	results := w.once(b, call("a", "deploy", `{"x":"1"}`), call("b", "look", `{}`), call("c", "deploy", `{ "x": "1" }`))
	if len(r.all()) != 1 || results[1].Text != "seen" || results[0].IsError == results[2].IsError {
		t.Errorf("%q: %+v", r.all(), results)
	}
}

// doubtful is a client whose hub resolves approvals with unknown decisions.
type doubtful struct {
	parley.Client
	err    error
	status parley.ApprovalStatus
	answer string
}

func (d *doubtful) RequestApproval(context.Context, *parley.RequestApprovalParams) (*parley.Approval, error) {
	if d.err != nil {
		return nil, d.err
	}
	return &parley.Approval{ApprovalID: "c.1", Status: d.status, Answer: json.RawMessage(d.answer)}, nil
}

// Any unclear decision is a rejection.
func TestFailsClosed(t *testing.T) {
	for name, row := range map[string]struct {
		hub    doubtful
		status string
	}{
		"error":          {doubtful{err: parley.ErrInternal}, "rejected"},
		"other error":    {doubtful{err: errors.New("what?")}, "rejected"},
		"refused":        {doubtful{err: parley.Refuse(parley.ErrTooLarge, "too many", "fewer")}, "rejected"},
		"conflict":       {doubtful{err: parley.ErrIdempotencyConflict}, "rejected"},
		"unknown status": {doubtful{status: "yes"}, "rejected"},
		"canceled":       {doubtful{status: parley.ApprovalCanceled}, "rejected"},
		"wrong answer":   {doubtful{status: parley.ApprovalApproved, answer: `{"x":1}`}, "rejected"},
		"no object":      {doubtful{status: parley.ApprovalApproved, answer: `"yes"`}, "rejected"},
		"half an answer": {doubtful{status: parley.ApprovalApproved, answer: `{"x":`}, "rejected"},
		"more arguments": {doubtful{status: parley.ApprovalApproved, answer: `{"x":"1","force":true}`}, "rejected"},
		"null":           {doubtful{status: parley.ApprovalApproved, answer: `null`}, "success"},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newWorld(t), &ran{}
			w.between = func(c parley.Client) parley.Client {
				row.hub.Client = c
				return &row.hub
			}
			results := w.once(w.gated(r, 0), call("c1", "deploy", `{"x":"prod"}`))
			if m := w.ended("c1")["metadata"].(map[string]any); m["status"] != row.status {
				t.Errorf("%v: %s", m, results[0].Text)
			}
			if (len(r.all()) > 0) != (row.status == "success") || results[0].IsError != (row.status != "success") {
				t.Errorf("it ran with %v: %+v", r.all(), results)
			}
		})
	}
}

// TestTooLargeToApprove has arguments that are too large for an approval.
func TestTooLargeToApprove(t *testing.T) {
	w, r := newWorld(t), &ran{}
	results := w.once(w.gated(r, 0), call("c1", "deploy", `{"x":"`+strings.Repeat("x", 64<<10)+`"}`))
	contains(t, "what the model reads", results[0].Text, "deploy was not run: the description of the call has more than")
	if len(r.all()) > 0 {
		t.Error("it ran")
	}
}

// Run fails if the hub reports that the turn cannot continue.
func TestTurnIsOver(t *testing.T) {
	for _, over := range []error{parley.ErrClaimLost, parley.ErrConversationClosed, parley.ErrUnavailable} {
		w, r := newWorld(t), &ran{}
		w.between = func(c parley.Client) parley.Client { return &doubtful{Client: c, err: over} }
		b := w.gated(r, 0)
		w.attempts(func(ctx context.Context, turn *parley.Turn) {
			if _, err := w.try(ctx, turn, b, call("c1", "deploy", `{"x":"prod"}`)); !errors.Is(err, over) {
				t.Errorf("%v: %v", over, err)
			}
		})
		if len(r.all()) > 0 || len(w.traces("llm_tool_result")) > 0 {
			t.Errorf("%v: it ran, or has an end", over)
		}
	}
}

// A later attempt finds the approval of the earlier attempt, pending or resolved, and requests no
// other.
func TestApprovalOfNextAttempt(t *testing.T) {
	for name, between := range map[string]bool{"pending": false, "answered between": true} {
		t.Run(name, func(t *testing.T) {
			w, r := newWorld(t), &ran{}
			b := w.gated(r, 0)
			c := call("c1", "deploy", `{"x":"prod"}`)
			w.attempt(false, func(ctx context.Context, turn *parley.Turn) {
				ctx, kill := context.WithCancel(ctx)
				w.later(func() {
					w.pending(1)
					kill()
				})
				if _, err := w.try(ctx, turn, b, c); !errors.Is(err, context.Canceled) {
					t.Errorf("the first attempt: %v", err)
				}
			})
			yes := func() {
				w.answer(parley.ResolveApprovalParams{ApprovalID: w.pending(1)[0].ApprovalID, Decision: parley.DecisionApproved})
			}
			if between {
				yes()
			} else {
				w.later(yes)
			}
			var results []llm.ToolResult
			w.attempt(true, func(ctx context.Context, turn *parley.Turn) { results = w.run(ctx, turn, b, c) })
			if results[0].Text != "ran" || len(r.all()) != 1 || w.system(parley.KindApprovalRequested) != 1 {
				t.Errorf("%v: it ran %d times, %d were asked for", results, len(r.all()), w.system(parley.KindApprovalRequested))
			}
		})
	}
}

// Arguments in an answer are handled like those of the model: injected arguments reach no tool, and
// the others are checked.
func TestEditedInjected(t *testing.T) {
	for answer, row := range map[string]struct{ got, text string }{
		`{"x":"test","origin":"ann"}`: {`[{"x":"test"}]`,
			"[The approver changed the arguments to {\"x\":\"test\"}]\nran"},
		`{"x":"prod","origin":"ann"}`: {`[{"x":"prod"}]`, "ran"},
		`{"origin":"ann"}`:            {`[]`, "deploy was not run: the arguments in the answer are invalid: "},
	} {
		w, r := newWorld(t), &ran{}
		open, err := tool.NewFunc("deploy", "Deploys.",
			json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}`), r.tool(t, "deploy").Run)
		if err != nil {
			t.Fatal(err)
		}
		w.between = func(c parley.Client) parley.Client {
			return &doubtful{Client: c, status: parley.ApprovalApproved, answer: answer}
		}
		b := w.box(tool.Options{Functions: []tool.Tool{open}, Config: &parley.AgentConfig{
			Tools: []string{"deploy"}, HITLTools: []string{"deploy"}, InjectedToolArgs: map[string]string{"origin": "who"},
		}})
		results := w.once(b, call("c1", "deploy", `{"x":"prod","origin":"ui"}`))
		want(t, "what the tool got", fmt.Sprint(r.all()), row.got)
		contains(t, "what the model reads", results[0].Text, row.text)
		want(t, "the record", fmt.Sprint(w.ended("c1")["metadata"].(map[string]any)["injected_args"]), "map[origin:ui]")
	}
}

// An equal call with another id is the same approval. A rejected call is not requested again.
func TestApprovalOfOtherCall(t *testing.T) {
	w, r := newWorld(t), &ran{}
	b := w.gated(r, 0)
	w.attempt(false, func(ctx context.Context, turn *parley.Turn) {
		ctx, kill := context.WithCancel(ctx)
		w.later(func() {
			w.pending(1)
			kill()
		})
		if _, err := w.try(ctx, turn, b, call("call_1", "deploy", `{"x":"prod"}`)); !errors.Is(err, context.Canceled) {
			t.Errorf("the first attempt: %v", err)
		}
	})
	w.answer(parley.ResolveApprovalParams{ApprovalID: w.pending(1)[0].ApprovalID, Decision: parley.DecisionRejected})
	w.attempt(true, func(ctx context.Context, turn *parley.Turn) {
		ctx, end := context.WithTimeout(ctx, patience)
		defer end()
		results := w.run(ctx, turn, b, call("call_2", "deploy", `{ "x": "prod" }`))
		want(t, "what the model reads", results[0].Text, "deploy was not run: ann has rejected it.")
	})
	if n := w.system(parley.KindApprovalRequested); n != 1 || len(r.all()) > 0 {
		t.Errorf("%d were asked for, and it ran with %v", n, r.all())
	}
}

// If the schema of the tool differs in each attempt, each attempt requests an approval, because the
// answer must match the schema.
func TestApprovalOfOtherSchema(t *testing.T) {
	w, r := newWorld(t), &ran{}
	for i := range 3 {
		schema := fmt.Sprintf(`{"type":"object","properties":{"x":{"type":"string","maxLength":%d}}}`, 10+i)
		deploy, err := tool.NewFunc("deploy", "Deploys.", json.RawMessage(schema), r.tool(t, "deploy").Run)
		if err != nil {
			t.Fatal(err)
		}
		b := w.box(tool.Options{Functions: []tool.Tool{deploy},
			Config: &parley.AgentConfig{Tools: []string{"deploy"}, HITLTools: []string{"deploy"}}})
		w.attempt(i == 2, func(ctx context.Context, turn *parley.Turn) {
			ctx, kill := context.WithCancel(ctx)
			w.later(func() {
				all := w.pending(1)
				if i < 2 || len(all) == 0 {
					kill()
					return
				}
				w.answer(parley.ResolveApprovalParams{ApprovalID: all[0].ApprovalID, Decision: parley.DecisionApproved})
			})
			results, err := w.try(ctx, turn, b, call("c", "deploy", `{"x":"prod"}`))
			if i < 2 && !errors.Is(err, context.Canceled) || i == 2 && (err != nil || results[0].Text != "ran") {
				t.Errorf("attempt %d: %+v %v", i+1, results, err)
			}
		})
		if i < 2 { // until then no one else gets the turn
			w.answer(parley.ResolveApprovalParams{ApprovalID: w.pending(1)[0].ApprovalID, Decision: parley.DecisionApproved})
		}
	}
}
