package tool_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// Functions and tools of servers are wrapped under the names that the model uses. Agents and
// children are not wrapped.
func TestWrap(t *testing.T) {
	w := newWorld(t)
	server := &fakeServer{tools: []tool.Tool{echo(t, "look")}}
	var wrapped []string
	b := w.box(tool.Options{
		Config: &parley.AgentConfig{Tools: []string{"look", "again"}, AllowSelfSpawn: true,
			MCPServers: map[string]parley.MCPServer{"s": {Command: "s"}}},
		Functions: []tool.Tool{echo(t, "look"), tool.AsRepeatable(echo(t, "again"))},
		Connect:   connectTo(map[string]*fakeServer{"s": server}),
		Wrap: func(inner tool.Tool) tool.Tool {
			name := inner.Spec().Name
			if _, ok := inner.(tool.Repeatable); ok {
				name += " repeatable"
			}
			wrapped = append(wrapped, name)
			return inner
		},
	})
	results := w.once(b, call("a", "look", `{"x":"1"}`), call("b", "s__look", `{"x":"2"}`))
	if !slices.Equal(wrapped, []string{"look", "again repeatable", "s__look"}) {
		t.Errorf("wrapped %q", wrapped)
	}
	if results[0].Text != `{"x":"1"}` || results[1].Text != `{"x":"2"}` {
		t.Errorf("results %+v", results)
	}
}

// The last call of an answer that was cut off is not run. Earlier calls are.
func TestCutOff(t *testing.T) {
	w := newWorld(t)
	b := w.box(tool.Options{Config: &parley.AgentConfig{Tools: []string{"look"}}, Functions: []tool.Tool{echo(t, "look")}})
	results := w.onceCut(b, call("a", "look", `{"x":"1"}`), call("b", "look", `{}`))
	if results[0].IsError || !results[1].IsError || !strings.Contains(results[1].Text, "invalid_arguments") ||
		!strings.Contains(results[1].Text, "was cut off") {
		t.Errorf("results %+v", results)
	}
	if started := w.traces("llm_tool_started"); len(started) != 1 {
		t.Errorf("%d tools were run", len(started))
	}
}

// onceCut is once for an answer that was cut off.
func (w *world) onceCut(b *tool.Box, calls ...llm.ToolCall) (results []llm.ToolResult) {
	w.Helper()
	w.attempts(func(ctx context.Context, turn *parley.Turn) {
		l, err := record.Open(ctx, turn)
		if err != nil {
			w.Error(err)
			return
		}
		if results, err = b.Run(
			ctx, &tool.Round{Turn: turn, Record: l, Phase: record.PhaseExecute, Step: 1, Calls: calls, Cut: true}); err != nil {
			w.Error(err)
		}
	})
	return results
}
