package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/internal/toolnames"
	"github.com/parleyhub/parley/sdk"
)

// Every kind of tool in hitl_tools waits for an approval, and does nothing if it is rejected.
func TestGated(t *testing.T) {
	servers := map[string]parley.MCPServer{"s": {Command: "s"}}
	for name, row := range map[string]struct {
		o               tool.Options
		tool, arguments string
	}{
		"function": {tool.Options{Config: &parley.AgentConfig{Tools: []string{"deploy"}, HITLTools: []string{"deploy"}}},
			"deploy", `{}`},
		"server": {tool.Options{Config: &parley.AgentConfig{MCPServers: servers, HITLTools: []string{"s__deploy"}}},
			"s__deploy", `{}`},
		"agent": {
			tool.Options{Config: &parley.AgentConfig{Agents: []string{"helper@run-1"}, HITLTools: []string{"helper_run-1"}}},
			"helper_run-1", `{"prompt":"x"}`},
		"child": {tool.Options{Child: true,
			Config: &parley.AgentConfig{Tools: []string{"deploy"}, HITLTools: []string{"deploy"},
				ChildTools: []string{"deploy"}}},
			"deploy", `{}`},
		"server of a child": {tool.Options{Child: true, Only: []string{"s__deploy"}, Config: &parley.AgentConfig{
			MCPServers: servers, HITLTools: []string{"s__deploy"}, ChildTools: []string{"s__deploy"},
		}}, "s__deploy", `{}`},
		"agent of a child": {
			tool.Options{Child: true,
				Config: &parley.AgentConfig{Agents: []string{"helper"}, HITLTools: []string{"helper"},
					ChildTools: []string{"helper"}}},
			"helper", `{"prompt":"x"}`},
		"spawn_self": {
			tool.Options{Config: &parley.AgentConfig{AllowSelfSpawn: true, HITLTools: []string{toolnames.SpawnSelf}}},
			toolnames.SpawnSelf, `{"task":"t"}`},
		"run_parallel_subagents": {
			tool.Options{Config: &parley.AgentConfig{AllowParallelSubagents: true, HITLTools: []string{toolnames.Parallel}}},
			toolnames.Parallel, `{"jobs":[{"task":"t"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newWorld(t), &ran{}
			does := func(context.Context, *parley.Turn, json.RawMessage) *parley.SessionResult { return textResult("done") }
			w.serve(parley.Blueprint{Name: "helper"}, "run-1", does)
			w.serve(parley.Blueprint{Name: "bot.child"}, "run-2", does)
			w.between = func(c parley.Client) parley.Client { return &doubtful{Client: c, status: parley.ApprovalRejected} }
			row.o.Functions = []tool.Tool{r.tool(t, "deploy")}
			row.o.Connect = connectTo(map[string]*fakeServer{"s": {tools: row.o.Functions}})
			results := w.once(w.box(row.o), call("c", row.tool, row.arguments))
			want(t, "what the model reads", results[0].Text, row.tool+" was not run: someone has rejected it.")
			if n := w.system(parley.KindSessionStarted); len(r.all()) > 0 || n > 0 || len(w.traces("llm_tool_started")) > 0 {
				t.Errorf("it ran with %q, and %d sessions were started", r.all(), n)
			}
		})
	}
}

// The agent and the approver are connected from outside, and both connections are closed between
// request and decision. There is one approval, and the tool runs once.
func TestApprovalOverSockets(t *testing.T) {
	w, r := newWorld(t), &ran{}
	w.dial = func() parley.Client { return w.hub.Client(t, "bot") }
	w.ann = w.hub.Dial(
		t, &sdk.Options{
			Token: w.hub.NewToken(t, "ann", append([]parley.Scope{parley.ScopeApprove}, parley.DefaultScopes...)...)})
	b := w.gated(r, 0)
	w.later(func() {
		a := w.pending(1)[0]
		w.hub.CutConnections()
		w.patiently(func() error {
			_, err := w.ann.ResolveApproval(t.Context(),
				&parley.ResolveApprovalParams{ApprovalID: a.ApprovalID, Decision: parley.DecisionApproved,
					Answer: json.RawMessage(`{"x":"test"}`)})
			return err
		})
	})
	results := w.once(b, call("c1", "deploy", `{"x":"prod"}`))
	contains(t, "what the model reads", results[0].Text, "ran")
	want(t, "what the tool got", fmt.Sprint(r.all()), `[{"x":"test"}]`)
	if n := w.system(parley.KindApprovalRequested); n != 1 {
		t.Errorf("%d were asked for", n)
	}
}

// patiently repeats do until it succeeds or the test ends.
func (w *world) patiently(do func() error) {
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if err = do(); err == nil || w.Context().Err() != nil {
			return
		}
	}
	w.Error(err)
}
