package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/internal/toolnames"
)

// These tests of the tools in an agent config continue fields_test.go.

func names(req *llm.Request) (all []string) {
	for _, t := range req.Tools {
		all = append(all, t.Name)
	}
	return all
}

func TestTools(t *testing.T) {
	t.Parallel()
	add, other := &adder{name: "add"}, &adder{name: "other"}
	w := newWorld(t, inTurn(wants("add", `{"n":1}`, "other", `{}`), says("done")))
	w.options.Functions = []tool.Tool{add, other}
	w.run(blueprint(`"tools":["add"]`))
	s := w.hello()
	w.completed(s, "done")
	calls := w.vendor.calls()
	if got := names(&calls[0]); !slices.Equal(got, []string{"add"}) {
		t.Errorf("the model is offered %q", got)
	}
	told := calls[1].Messages[2].Results
	if len(told) != 2 || told[0].Text != `add {"n":1}` || told[0].CallID != "c0" || !told[1].IsError {
		t.Errorf("the model reads %+v", told)
	}
	if len(add.ran()) != 1 || len(other.ran()) != 0 {
		t.Errorf("ran %q, %q", add.ran(), other.ran())
	}
	if got := w.traces(s.SessionID, record.KindToolResult); len(got) != 2 {
		t.Errorf("%d results in the record", len(got))
	}
}

func TestAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, inTurn(wants("helper", `{"prompt":"help"}`), says("done")))
	helper := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		text := "here you are"
		_, err := turn.Complete(
			ctx, parley.Message{Result: &parley.SessionResult{ResultType: parley.AgentTypeAgent, ResultText: &text}},
			parley.Outcome{Status: parley.OutcomeCompleted})
		return parley.TurnComplete, err
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	c := w.hub.Client(t, "helper")
	go func() { defer close(ended); _ = executors.Run(ctx, c, helper, nil) }()
	t.Cleanup(func() { stop(); <-ended })
	w.served("helper")
	w.run(blueprint(`"agents":["helper"]`))
	w.completed(w.hello(), "done")
	if got := w.vendor.calls()[1].Messages[2].Results[0]; !strings.Contains(got.Text, "here you are") || got.IsError {
		t.Errorf("the model reads %+v", got)
	}
}

func TestInjectedToolArgs(t *testing.T) {
	t.Parallel()
	add := &adder{name: "add"}
	w := newWorld(t, inTurn(wants("add", `{"n":1,"why":"because"}`), says("done")))
	w.options.Functions = []tool.Tool{add}
	w.run(blueprint(`"tools":["add"],"injected_tool_args":{"why":"The reason."}`))
	s := w.hello()
	w.completed(s, "done")
	if got := string(w.vendor.calls()[0].Tools[0].Parameters); !strings.Contains(got, "The reason.") {
		t.Errorf("the model is offered %s", got)
	}
	if got := add.ran(); len(got) != 1 || got[0] != `{"n":1}` {
		t.Errorf("the tool ran with %q", got)
	}
	var ended record.ToolEnded
	if err := json.Unmarshal(w.traces(s.SessionID, record.KindToolResult)[0].Data, &ended); err != nil ||
		string(ended.Metadata.InjectedArgs) != `{"why":"because"}` {
		t.Errorf("the record says %+v, %v", ended, err)
	}
}

// Neither the agent nor its planner runs such a tool before an approval.
func TestHITLTools(t *testing.T) {
	t.Parallel()
	pay := &adder{name: "pay"}
	w := newWorld(t, func(_ context.Context, req *llm.Request) (*llm.Response, error) {
		switch {
		case results(req) == 0:
			return wants("pay", `{"n":1}`), nil
		case phase(req) == record.PhasePlan:
			return says("1. pay"), nil
		}
		return says("done"), nil
	})
	w.options.Functions = []tool.Tool{pay}
	w.run(blueprint(`"tools":["pay"],"hitl_tools":["pay"],"planning_enabled":true`))
	s, err := w.person.StartSession(t.Context(),
		&parley.StartSessionParams{AgentName: "bot", Prompt: "x", Mode: parley.ModeAsyncPoll})
	if err != nil {
		t.Fatal(err)
	}
	admin := w.hub.Admin(t)
	for i, decision := range []parley.ApprovalDecision{parley.DecisionRejected, parley.DecisionApproved} {
		a := w.pending(s.SessionID)
		if n := len(pay.ran()); n != 0 {
			t.Fatalf("it ran %d times before the approval", n)
		}
		if _, err := admin.ResolveApproval(t.Context(),
			&parley.ResolveApprovalParams{ApprovalID: a.ApprovalID, Decision: decision, Comment: "too much"}); err != nil {
			t.Fatal(i, err)
		}
	}
	if s, err = w.person.GetSession(t.Context(),
		&parley.GetSessionParams{SessionID: s.SessionID, TimeoutMs: 20_000}); err != nil {
		t.Fatal(err)
	}
	w.completed(s, "done")
	if n := len(pay.ran()); n != 1 {
		t.Errorf("it ran %d times", n)
	}
	calls := w.vendor.calls()
	if got := calls[1].Messages[2].Results[0]; !got.IsError || !strings.Contains(got.Text, "too much") {
		t.Errorf("the planner reads %+v", got)
	}
	refused(t, w, blueprint(`"tools":["pay"],"hitl_tools":["other"]`), "hitl_tools")
}

// pending waits for a pending approval.
func (w *world) pending(id string) parley.Approval {
	w.Helper()
	admin := w.hub.InProcess(w.T, "boss", parley.ScopeAdmin)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		list, err := admin.ListApprovals(w.Context(), &parley.ListApprovalsParams{ConversationID: id})
		if err != nil {
			w.Fatal(err)
		}
		if len(list.Approvals) == 1 {
			return list.Approvals[0]
		}
	}
	w.Fatal("nothing is asked")
	return parley.Approval{}
}

func TestHITLTimeout(t *testing.T) {
	t.Parallel()
	pay := &adder{name: "pay"}
	w := newWorld(t, inTurn(wants("pay", `{"n":1}`), says("done")))
	w.options.Functions = []tool.Tool{pay}
	w.run(blueprint(`"tools":["pay"],"hitl_tools":["pay"],"hitl_timeout_ms":150`))
	began := time.Now()
	w.completed(w.hello(), "done")
	if took := time.Since(began); took < 150*time.Millisecond || len(pay.ran()) != 0 {
		t.Errorf("it took %v, and the tool ran %d times", took, len(pay.ran()))
	}
}

// Without an optional server that cannot be reached, the agent runs with its other tools. The trace
// and the prompt name the server.
func TestOptionalServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, inTurn(wants("there__dig", `{}`), says("done")))
	w.options.Connect = func(_ context.Context, name string, _ parley.MCPServer) (tool.Server, error) {
		if name == "inventory" {
			return nil, errors.New("the database is down")
		}
		return &mcp{adder: adder{name: "dig"}}, nil
	}
	w.run(blueprint(`"mcp_servers":{"there":{"command":"dig"},` +
		`"inventory":{"url":"https://a.example","optional":true}},"hitl_tools":["inventory__remove"],` +
		`"tool_choice":"inventory__remove"`))
	s := w.hello()
	w.completed(s, "done")
	traces := w.traces(s.SessionID, record.KindServerMissing)
	want := `{"server":"inventory","error":"connect to the MCP server inventory: the database is down"}`
	if len(traces) != 1 || string(traces[0].Data) != want {
		t.Errorf("the traces are %s", indent(traces))
	}
	if prompt := w.vendor.calls()[0].Instructions; !strings.Contains(prompt, "cannot be reached now: inventory.") {
		t.Errorf("the prompt does not name the server:\n%s", prompt)
	}
}

// mcp is a server with one tool that reports progress.
type mcp struct {
	adder
	mu     sync.Mutex // guards the fields below
	opened int
	closed int
}

func (m *mcp) Tools(context.Context) ([]tool.Tool, error) { return []tool.Tool{&m.adder}, nil }

func (m *mcp) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed++
	return nil
}

func TestMCPServers(t *testing.T) {
	t.Parallel()
	for fields, emits := range map[string]bool{"": true, `,"emit_mcp_progress":true`: true,
		`,"emit_mcp_progress":false`: false} {
		m := &mcp{adder: adder{name: "dig", do: func(_ context.Context, c *tool.Call) (*tool.Result, error) {
			c.Progress(tool.Progress{Done: 1, Total: 2, Text: "half"})
			return &tool.Result{Text: "dug"}, nil
		}}}
		w := newWorld(t, inTurn(wants("mine__dig", `{}`), says("done")))
		w.options.Connect = func(_ context.Context, name string, s parley.MCPServer) (tool.Server, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.opened++
			if name != "mine" || s.Command != "dig" {
				t.Errorf("connected to %s %+v", name, s)
			}
			return m, nil
		}
		a, err := w.make(blueprint(`"mcp_servers":{"mine":{"command":"dig"}},"allow_self_spawn":true` + fields))
		if err != nil {
			t.Fatal(err)
		}
		stop := w.serve(a, w.hub.Client(t, "bot"))
		for range 2 {
			s := w.hello()
			w.completed(s, "done")
			if got := w.traces(s.SessionID, record.KindProgress); (len(got) > 0) != emits {
				t.Errorf("%s: the progress is %+v", fields, got)
			}
			if got := w.vendor.calls()[1].Messages[2].Results[0]; got.Text != "dug" {
				t.Errorf("%s: the model reads %+v", fields, got)
			}
		}
		stop()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if m.opened != 1 || m.closed != 1 {
			t.Errorf("connected %d times, closed %d times", m.opened, m.closed)
		}
	}
}

// runner runs an agent as the runner of its blueprints, including children.
func (w *world) runner(b *parley.Blueprint, c parley.Client) {
	w.Helper()
	w.options.RunnerID = "run-1"
	a, err := w.make(b)
	if err != nil {
		w.Fatal(err)
	}
	registered := make(chan struct{}, 100)
	ctx := context.Background()
	if w.tracer != nil {
		ctx = parley.WithTracer(ctx, w.tracer)
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- executors.Run(ctx, c, a, &executors.Options{
			Blueprints: a.Blueprints(), ExecutorID: "run-1", Drain: -1,
			Registered: func(*parley.RegisterBlueprintsResult) { registered <- struct{}{} },
		})
	}()
	w.Cleanup(func() { stop(); _ = a.Close() })
	select {
	case <-registered:
	case err := <-ended:
		w.Fatal(err)
	case <-time.After(patience):
		w.Fatal("the blueprints are not registered")
	}
}

func isChild(req *llm.Request) bool {
	return strings.Contains(req.Instructions, "You are a child of this agent")
}

func TestChildren(t *testing.T) {
	t.Parallel()
	jobs := `{"jobs":[{"task":"one","additional_context":"a < b","output_schema":{"type":"object","required":["n"]},` +
		`"system_prompt":"Be quick."},{"task":"two","tool_names":[]},{"task":"three"}]}`
	w := newWorld(t, func(_ context.Context, req *llm.Request) (*llm.Response, error) {
		switch {
		case isChild(req) && phase(req) == record.PhaseRepair:
			return says(`{"n":1}`), nil
		case isChild(req) && strings.Contains(lastText(req), "three"):
			return &llm.Response{Refusal: "not three", Finish: llm.FinishRefusal}, nil
		case isChild(req):
			return says("child of " + lastText(req)), nil
		case phase(req) == record.PhasePlan:
			return says("1. children"), nil
		case results(req) == 0:
			return wants(toolnames.Parallel, jobs), nil
		}
		return says("done"), nil
	})
	w.options.Functions = []tool.Tool{&adder{name: "add"}, &adder{name: "pay"}}
	w.runner(blueprint(
		`"tools":["add","pay"],"hitl_tools":["pay"],"allow_self_spawn":true,"allow_parallel_subagents":true,`+
			`"max_parallel_subagents":3,"planning_enabled":true,"instructions":"I am bot."`), w.hub.Client(t, "runner"))
	s := w.hello()
	w.completed(s, "done")
	var children []llm.Request
	calls := w.vendor.calls()
	for _, c := range calls {
		if isChild(&c) {
			children = append(children, c)
		}
	}
	if len(children) != 4 { // one of them repairs its answer
		t.Fatalf("children were asked %d times: %s", len(children), lastResults(&calls[len(calls)-1]))
	}
	for _, c := range children {
		quick := strings.Contains(c.Messages[0].Text, "<task>\none\n</task>\n<context>\na &lt; b\n</context>")
		want := []string{"add"}
		if strings.Contains(c.Messages[0].Text, "two") {
			want = nil
		}
		if strings.Contains(c.Instructions, "Be quick.") != quick || !strings.HasPrefix(c.Instructions, "I am bot.") ||
			!slices.Equal(names(&c), want) || strings.Contains(c.Instructions, "<plan>") {
			t.Errorf("a child was asked %s with the tools %q and the instructions %s", c.Messages[0].Text, names(&c),
				c.Instructions)
		}
	}
	var got struct {
		Results []struct {
			Status string          `json:"status"`
			Text   string          `json:"result_text"`
			Data   json.RawMessage `json:"result_data"`
			Error  string          `json:"error"`
		} `json:"results"`
	}
	told := calls[len(calls)-1].Messages[2].Results[0].Text
	if err := json.Unmarshal([]byte(told), &got); err != nil || len(got.Results) != 3 {
		t.Fatalf("the model reads %s, %v", told, err)
	}
	if r := got.Results; string(r[0].Data) != `{"n":1}` || !strings.Contains(r[1].Text, "child of") ||
		r[2].Status != "error" || !strings.Contains(r[2].Error, "not three") {
		t.Errorf("the model reads %s", told)
	}
	// Another participant cannot start a child.
	child, err := w.person.StartSession(t.Context(),
		&parley.StartSessionParams{AgentName: "bot.child", Parameters: json.RawMessage(`{"task":"evil"}`), TimeoutMs: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	w.failed(child, "forbidden")
	id := w.conversation("")
	child, err = w.person.StartSession(t.Context(),
		&parley.StartSessionParams{AgentName: "bot.child", Parameters: json.RawMessage(`{"task":"evil"}`), TimeoutMs: 20_000,
			ParentConversationID: id})
	if err != nil {
		t.Fatal(err)
	}
	w.failed(child, "forbidden")
	if n := len(w.vendor.calls()); n != len(calls) {
		t.Error("a model was asked for a child that another participant started")
	}
	// Without the fields there are no such tools, and no blueprint of children.
	if _, req := one(t, `"max_parallel_subagents":4`, nil); len(req.Tools) != 0 {
		t.Errorf("the tools are %q", names(&req))
	}
}

// TestForeignChildren refuses a child that another participant of the agent's own conversation
// starts.
func TestForeignChildren(t *testing.T) {
	t.Parallel()
	w := newWorld(t, always("done"))
	w.runner(blueprint(`"allow_self_spawn":true`), w.hub.Admin(t))
	id := w.conversation("")
	child, err := w.person.StartSession(t.Context(),
		&parley.StartSessionParams{AgentName: "bot.child", Parameters: json.RawMessage(`{"task":"evil"}`), TimeoutMs: 20_000,
			ParentConversationID: id})
	if err != nil {
		t.Fatal(err)
	}
	w.failed(child, "forbidden")
	bot := w.hub.Client(t, "bot")
	child, err = bot.StartSession(t.Context(),
		&parley.StartSessionParams{AgentName: "bot.child", Parameters: json.RawMessage(`{"task":"good"}`), TimeoutMs: 20_000,
			ParentConversationID: id})
	if err != nil {
		t.Fatal(err)
	}
	w.completed(child, "done")
}

func TestChildTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ context.Context, req *llm.Request) (*llm.Response, error) {
		switch {
		case isChild(req):
			return says("child has " + strings.Join(names(req), ",")), nil
		case results(req) == 0:
			return wants(toolnames.SpawnSelf, `{"task":"one"}`), nil
		}
		return says(req.Messages[2].Results[0].Text), nil
	})
	w.options.Functions = []tool.Tool{&adder{name: "add"}, &adder{name: "pay"}}
	w.runner(blueprint(`"tools":["add","pay"],"child_tools":["pay"],"allow_self_spawn":true`), w.hub.Client(t, "runner"))
	if s := w.hello(); s.Result == nil || s.Result.ResultText == nil ||
		!strings.Contains(*s.Result.ResultText, "child has pay") {
		t.Errorf("the session is %s", indent(s))
	}
}

// lastResults returns the last tool results that a model reads.
func lastResults(req *llm.Request) string {
	var b strings.Builder
	for _, m := range req.Messages {
		for _, r := range m.Results {
			b.WriteString(r.Text + "\n")
		}
	}
	return b.String()
}
