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
	"github.com/parleyhub/parley/internal/toolnames"
)

// spawns returns the config of an agent that starts children, with one tool for children and one
// without.
func spawns() *parley.AgentConfig {
	return &parley.AgentConfig{Tools: []string{"read", "deploy"}, HITLTools: []string{"deploy"}, AllowSelfSpawn: true,
		AllowParallelSubagents: true, MaxParallelSubagents: 4}
}

func (w *world) spawner(c *parley.AgentConfig, runner string) *tool.Box {
	return w.box(tool.Options{Functions: []tool.Tool{echo(w, "read"), echo(w, "deploy")}, Config: c, RunnerID: runner})
}

// jobs returns the arguments of a call with n jobs.
func jobs(n int, fields string) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{"task":"t%d"%s}`, i, fields))
	}
	return `{"jobs":[` + strings.Join(all, ",") + `]}`
}

// An invalid call starts nothing, and the result explains how to correct it.
func TestSpawnRefused(t *testing.T) {
	rows := []struct{ tool, arguments, code, words string }{
		{toolnames.Parallel, jobs(0, ""), "no_jobs", "1 to 4 jobs"},
		{toolnames.Parallel, `{}`, "no_jobs", "1 to 4 jobs"},
		{toolnames.Parallel, jobs(5, ""), "too_many_jobs", "Pass at most 4"},
		{toolnames.Parallel, jobs(8, ""), "too_many_jobs", "Pass at most 4"},
		{toolnames.Parallel, jobs(2, `,"tool_names":["deploy"]`), "unknown_tools", "The available tools are: read."},
		{toolnames.Parallel, jobs(2, `,"tool_names":["read","spawn_self"]`), "unknown_tools", "The available tools are: read."},
		{toolnames.Parallel, jobs(1, `,"output_schema":{"type":"thing"}`), "invalid_output_schema",
			"jobs[0]: output_schema: "},
		{toolnames.Parallel, jobs(1, `,"model":"x"`), "invalid_arguments", "$.jobs[0].model"},
		{toolnames.Parallel, `{"jobs":[{"task":""}]}`, "invalid_arguments", "$.jobs[0].task"},
		{toolnames.Parallel, `{"jobs":"all"}`, "invalid_arguments", "$.jobs"},
		{toolnames.SpawnSelf, `{}`, "invalid_arguments", "task"},
		{toolnames.SpawnSelf, `{"task":"t","system_prompt":"x"}`, "invalid_arguments", "$.system_prompt"},
		{toolnames.SpawnSelf, `{"task":"t","tool_names":["deploy"]}`, "unknown_tools", "The available tools are: read."},
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
			t.Errorf("%s %s returned %+v", rows[i].tool, rows[i].arguments, r)
		}
		contains(t, rows[i].arguments, r.Text, rows[i].words)
	}
	if n := w.system(parley.KindSessionStarted); n != 0 {
		t.Errorf("%d children were started", n)
	}
}

// The schema has max_parallel_subagents.
func TestSubagents(t *testing.T) {
	for n, wanted := range map[int]string{0: `"maxItems":3`, 1: `"maxItems":1`, 7: `"maxItems":7`} {
		c := spawns()
		c.MaxParallelSubagents = n
		specs, _, err := newWorld(t).spawner(c, "").Specs(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		contains(t, "the schema", string(spec(t, specs, toolnames.Parallel).Parameters), wanted)
	}
}

// Jobs run concurrently, and a failed one does not stop the others. The results are in the order of
// the jobs, and each is checked against its output_schema.
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
			all.Wait() // all jobs run concurrently
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
	r := w.once(w.spawner(spawns(), "run-1"), call("a", toolnames.Parallel,
		`{"jobs":[{"task":"text","tool_names":[],"system_prompt":"be short","additional_context":"c"},{"task":"fails",`+
			`"tool_names":null,"output_schema":null},{"task":"right","tool_names":["read"],"output_schema":`+schema+`},{"task":"wrong","output_schema":`+schema+`}]}`))
	var out struct{ Results []map[string]any }
	if err := json.Unmarshal([]byte(r[0].Text), &out); err != nil || len(out.Results) != 4 || r[0].IsError {
		t.Fatal(r, err)
	}
	for i, wanted := range []string{"success said text <nil> <nil>",
		"error <nil> <nil> The agent bot.child failed (error): no", "success <nil> map[n:1] <nil>",
		"error <nil> <nil> The result of the copy does not match output_schema."} {
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
		t.Errorf("the conversation has %d children", n)
	}
}

func TestSpawnSelf(t *testing.T) {
	w := newWorld(t)
	w.serve(parley.Blueprint{Name: "bot.child"}, "run-1",
		func(context.Context, *parley.Turn, json.RawMessage) *parley.SessionResult { return textResult("hello") })
	r := w.once(w.spawner(spawns(), ""), call("a", toolnames.SpawnSelf, `{"task":"greet"}`))
	var e map[string]any
	if err := json.Unmarshal([]byte(r[0].Text), &e); err != nil || e["status"] != "success" ||
		e["result_text"] != "hello" || e["index"] != nil {
		t.Error(r, err)
	}
}

// Without a runner of children, each job has an error.
func TestNoChildren(t *testing.T) {
	w := newWorld(t)
	r := w.once(w.spawner(spawns(), ""), call("a", toolnames.Parallel, jobs(2, "")))
	if contains(t, "what the model reads", r[0].Text, `"index":0,"status":"error"`, `"index":1,"status":"error"`,
		"not_found"); !r[0].IsError {
		t.Error("that is no error")
	}
}

// A lost turn does not stop its children, and the next attempt finds them.
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
	calls := []llm.ToolCall{call("a", toolnames.Parallel, jobs(2, "")), call("b", toolnames.SpawnSelf, `{"task":"t"}`)}
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

// A child that asks a question is stopped, because no one can answer it.
func TestChildNeedsInput(t *testing.T) {
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
