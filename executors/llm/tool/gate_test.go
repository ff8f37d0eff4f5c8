package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
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
		offered         []string // by the server; the default is deploy
	}{
		"function": {tool.Options{Config: &parley.AgentConfig{Tools: []string{"deploy"}, HITLTools: []string{"deploy"}}},
			"deploy", `{}`, nil},
		"server": {tool.Options{Config: &parley.AgentConfig{MCPServers: servers, HITLTools: []string{"s__deploy"}}},
			"s__deploy", `{}`, nil},
		"renamed tool of a server": {tool.Options{Config: &parley.AgentConfig{MCPServers: servers,
			HITLTools: []string{"s__de_ploy"}}},
			toolnames.WithDigest("s__de_ploy", "s__de.ploy"), `{}`, []string{"de.ploy", "de_ploy"}},
		"renamed agent": {
			tool.Options{Config: &parley.AgentConfig{Tools: []string{"helper_run-1"}, Agents: []string{"helper@run-1"},
				HITLTools: []string{"helper_run-1"}}},
			toolnames.WithDigest("helper_run-1", "helper@run-1"), `{"prompt":"x"}`, nil},
		"agent": {
			tool.Options{Config: &parley.AgentConfig{Agents: []string{"helper@run-1"}, HITLTools: []string{"helper_run-1"}}},
			"helper_run-1", `{"prompt":"x"}`, nil},
		"child": {tool.Options{Child: true,
			Config: &parley.AgentConfig{Tools: []string{"deploy"}, HITLTools: []string{"deploy"},
				ChildTools: []string{"deploy"}}},
			"deploy", `{}`, nil},
		"server of a child": {tool.Options{Child: true, Only: []string{"s__deploy"}, Config: &parley.AgentConfig{
			MCPServers: servers, HITLTools: []string{"s__deploy"}, ChildTools: []string{"s__deploy"},
		}}, "s__deploy", `{}`, nil},
		"agent of a child": {
			tool.Options{Child: true,
				Config: &parley.AgentConfig{Agents: []string{"helper"}, HITLTools: []string{"helper"},
					ChildTools: []string{"helper"}}},
			"helper", `{"prompt":"x"}`, nil},
		"spawn_self": {
			tool.Options{Config: &parley.AgentConfig{AllowSelfSpawn: true, HITLTools: []string{toolnames.SpawnSelf}}},
			toolnames.SpawnSelf, `{"task":"t"}`, nil},
		"run_parallel_subagents": {
			tool.Options{Config: &parley.AgentConfig{AllowParallelSubagents: true, HITLTools: []string{toolnames.Parallel}}},
			toolnames.Parallel, `{"jobs":[{"task":"t"}]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newWorld(t), &ran{}
			does := func(context.Context, *parley.Turn, json.RawMessage) *parley.SessionResult { return textResult("done") }
			w.serve(parley.Blueprint{Name: "helper"}, "run-1", does)
			w.serve(parley.Blueprint{Name: "bot.child"}, "run-2", does)
			w.between = func(c parley.Client) parley.Client { return &doubtful{Client: c, status: parley.ApprovalRejected} }
			row.o.Functions = []tool.Tool{r.tool(t, "deploy"), r.tool(t, "helper_run-1")}
			offered := row.o.Functions
			for i, name := range row.offered {
				offered = slices.Replace(slices.Clone(offered), i, i+1, tool.Tool(named{offered[0], name}))
			}
			row.o.Connect = connectTo(map[string]*fakeServer{"s": {tools: offered}})
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
