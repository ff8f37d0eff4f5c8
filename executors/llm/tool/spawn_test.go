package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// spawns is the config of an agent that starts children, with a tool that they may have and one that they may not.
func spawns() *parley.AgentConfig {
	return &parley.AgentConfig{Tools: []string{"read", "deploy"}, HITLTools: []string{"deploy"}, AllowSelfSpawn: true,
		AllowParallelSubagents: true, MaxParallelSubagents: 4}
}

func (w *world) spawner(c *parley.AgentConfig, runner string) *tool.Box {
	return w.box(tool.Options{Functions: []tool.Tool{echo(w, "read"), echo(w, "deploy")}, Config: c, RunnerID: runner})
}

// jobs makes the arguments of a call with so many jobs.
func jobs(n int, fields string) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{"task":"t%d"%s}`, i, fields))
	}
	return `{"jobs":[` + strings.Join(all, ",") + `]}`
}

// TestSpawnRefused: a call that cannot be run as it is starts nothing, and says what would be right.
func TestSpawnRefused(t *testing.T) {
	rows := []struct{ tool, arguments, code, words string }{
		{parley.ToolParallel, jobs(0, ""), "no_jobs", "1 to 4 jobs"},
		{parley.ToolParallel, `{}`, "no_jobs", "1 to 4 jobs"},
		{parley.ToolParallel, jobs(5, ""), "too_many_jobs", "Give at most 4"},
		{parley.ToolParallel, jobs(8, ""), "too_many_jobs", "Give at most 4"},
		{parley.ToolParallel, jobs(2, `,"tool_names":["deploy"]`), "unknown_tools", "Of these there are read."},
		{parley.ToolParallel, jobs(2, `,"tool_names":["read","spawn_self"]`), "unknown_tools", "Of these there are read."},
		{parley.ToolParallel, jobs(1, `,"output_schema":{"type":"thing"}`), "invalid_output_schema",
			"jobs[0]: output_schema: "},
		{parley.ToolParallel, jobs(1, `,"model":"x"`), "invalid_arguments", "$.jobs[0].model"},
		{parley.ToolParallel, `{"jobs":[{"task":""}]}`, "invalid_arguments", "$.jobs[0].task"},
		{parley.ToolParallel, `{"jobs":"all"}`, "invalid_arguments", "$.jobs"},
		{parley.ToolSpawnSelf, `{}`, "invalid_arguments", "task"},
		{parley.ToolSpawnSelf, `{"task":"t","system_prompt":"x"}`, "invalid_arguments", "$.system_prompt"},
		{parley.ToolSpawnSelf, `{"task":"t","tool_names":["deploy"]}`, "unknown_tools", "Of these there are read."},
	}
	w := newWorld(t)
	b := w.spawner(spawns(), "")
	var calls []llm.ToolCall
	for i, r := range rows {
		calls = append(calls, call(fmt.Sprint(i), r.tool, r.arguments))
	}
	for i, r := range w.once(b, calls...) {
		var p struct{ Error, Message, Hint string }
		if err := json.Unmarshal([]byte(r.Text), &p); err != nil || !r.IsError || p.Error != rows[i].code {
			t.Errorf("%s %s gave %+v", rows[i].tool, rows[i].arguments, r)
		}
		contains(t, rows[i].arguments, r.Text, rows[i].words)
	}
	if n := w.system(parley.KindSessionStarted); n != 0 {
		t.Errorf("%d children were started", n)
	}
}

// TestSubagents: max_parallel_subagents stands in the schema.
func TestSubagents(t *testing.T) {
	for n, wanted := range map[int]string{0: `"maxItems":3`, 1: `"maxItems":1`, 7: `"maxItems":7`} {
		c := spawns()
		c.MaxParallelSubagents = n
		specs, err := newWorld(t).spawner(c, "").Specs(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		contains(t, "the schema", string(spec(t, specs, parley.ToolParallel).Parameters), wanted)
	}
}

// TestParallel: jobs run at once, one that fails ends no other, and the results come in their order; each is held against its output_schema.
func TestParallel(t *testing.T) {
	w := newWorld(t)
	all := sync.WaitGroup{}
	all.Add(4)
	var mu sync.Mutex
	var got []string
	w.serve(parley.Blueprint{Name: "bot.child"}, "run-1",
		func(_ context.Context, turn *parley.Turn, p json.RawMessage) *parley.SessionResult {
			mu.Lock()
			got = append(got, string(p))
			mu.Unlock()
			all.Done()
			all.Wait() // all run at once
			var q struct{ Task string }
			_ = json.Unmarshal(p, &q)
			r := textResult("said " + q.Task)
			switch q.Task {
			case "fails":
				r.Error = "no"
			case "right":
				r.ResultData = json.RawMessage(`{"n":1}`)
			case "wrong":
				r.ResultData = json.RawMessage(`{"n":"1"}`)
			}
			return r
		})
	const schema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
	r := w.once(w.spawner(spawns(), "run-1"), call("a", parley.ToolParallel,
		`{"jobs":[{"task":"text","tool_names":[],"system_prompt":"be short","additional_context":"c"},{"task":"fails",`+
			`"tool_names":null,"output_schema":null},{"task":"right","tool_names":["read"],"output_schema":`+schema+`},{"task":"wrong","output_schema":`+schema+`}]}`))
	var out struct{ Results []map[string]any }
	if err := json.Unmarshal([]byte(r[0].Text), &out); err != nil || len(out.Results) != 4 || r[0].IsError {
		t.Fatal(r, err)
	}
	for i, wanted := range []string{"success said text <nil> <nil>",
		"error <nil> <nil> The agent bot.child has failed (error): no", "success <nil> map[n:1] <nil>",
		"error <nil> <nil> The result of the child does not match output_schema."} {
		e := out.Results[i]
		want(t, fmt.Sprintf("result %d", i),
			fmt.Sprintf("%v %v %v %v", e["status"], e["result_text"], e["result_data"], e["error"]), wanted)
		if e["index"] != float64(i) || e["session_id"] == nil {
			t.Errorf("result %d is %v", i, e)
		}
	}
	contains(t, "the parameters of children", strings.Join(got, "\n"),
		`{"task":"text","additional_context":"c","tool_names":[],"system_prompt":"be short"}`, `{"task":"fails"}`,
		`"tool_names":["read"],"output_schema":{`)
	if n := w.system(parley.KindSessionStarted); n != 4 {
		t.Errorf("the conversation is told of %d children", n)
	}
}

// TestSpawnSelf: one child, one result.
func TestSpawnSelf(t *testing.T) {
	w := newWorld(t)
	w.serve(parley.Blueprint{Name: "bot.child"}, "run-1",
		func(context.Context, *parley.Turn, json.RawMessage) *parley.SessionResult { return textResult("hello") })
	r := w.once(w.spawner(spawns(), ""), call("a", parley.ToolSpawnSelf, `{"task":"greet"}`))
	var e map[string]any
	if err := json.Unmarshal([]byte(r[0].Text), &e); err != nil || e["status"] != "success" ||
		e["result_text"] != "hello" || e["index"] != nil {
		t.Error(r, err)
	}
}

// TestNoChildren: where nobody runs children that is told of each job.
func TestNoChildren(t *testing.T) {
	w := newWorld(t)
	r := w.once(w.spawner(spawns(), ""), call("a", parley.ToolParallel, jobs(2, "")))
	if contains(t, "what the model reads", r[0].Text, `"index":0,"status":"error"`, `"index":1,"status":"error"`,
		"not_found"); !r[0].IsError {
		t.Error("that is no error")
	}
}

// TestChildrenOfNextAttempt: a turn that is lost leaves its children alone, and the next attempt meets them.
func TestChildrenOfNextAttempt(t *testing.T) {
	w := newWorld(t)
	begun, release := make(chan struct{}, 10), make(chan struct{})
	w.serve(parley.Blueprint{Name: "bot.child"}, "run-1",
		func(context.Context, *parley.Turn, json.RawMessage) *parley.SessionResult {
			begun <- struct{}{}
			<-release
			return textResult("hello")
		})
	b := w.spawner(spawns(), "")
	calls := []llm.ToolCall{call("a", parley.ToolParallel, jobs(2, "")), call("b", parley.ToolSpawnSelf, `{"task":"t"}`)}
	w.attempt(false, func(ctx context.Context, turn *parley.Turn) {
		ctx, kill := context.WithCancel(ctx)
		go func() {
			for range 3 {
				<-begun
			}
			kill()
		}()
		if _, err := w.try(ctx, turn, b, calls...); !errors.Is(err, context.Canceled) {
			t.Errorf("the first attempt: %v", err)
		}
	})
	close(release)
	w.attempt(true, func(ctx context.Context, turn *parley.Turn) {
		for _, r := range w.run(ctx, turn, b, calls...) {
			contains(t, r.Name, r.Text, `"result_text":"hello"`)
		}
	})
	if n := w.system(parley.KindSessionStarted); n != 3 {
		t.Errorf("%d children were started", n)
	}
}

// TestAsksBack: a child that asks something is stopped: nobody answers it.
func TestAsksBack(t *testing.T) {
	w := newWorld(t)
	b := w.box(tool.Options{Config: &parley.AgentConfig{Agents: []string{"asker"}}})
	w.asks("asker")
	r := w.once(b, call("a", "asker", `{"prompt":"book"}`))
	contains(t, "what the model reads", r[0].Text, `"error":"input_required"`, "For how many?")
	if !r[0].IsError {
		t.Error("that is no error")
	}
	for deadline := time.Now().Add(patience); w.system(parley.KindSessionEnded) == 0; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it was not stopped")
		}
	}
}
