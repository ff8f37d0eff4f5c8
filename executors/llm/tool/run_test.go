package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/internal/toolnames"
)

// A failed tool is a result in its position, and each result is recorded.
func TestRun(t *testing.T) {
	ran := atomic.Int32{}
	functions := []tool.Tool{
		echo(t, "echo"),
		function(t, "fails", func(context.Context, *tool.Call) (*tool.Result, error) { return nil, errors.New("no disk") }),
		function(t, "panics", func(context.Context, *tool.Call) (*tool.Result, error) { panic("boom") }),
		function(t, "nothing", func(context.Context, *tool.Call) (*tool.Result, error) { return nil, nil }),
		function(t, "cannot", func(context.Context, *tool.Call) (*tool.Result, error) {
			return &tool.Result{Text: "cannot", IsError: true}, nil
		}),
		function(t, "counts",
			func(context.Context, *tool.Call) (*tool.Result, error) { ran.Add(1); return &tool.Result{}, nil }),
	}
	w := newWorld(t)
	b := w.box(tool.Options{Functions: functions,
		Config: &parley.AgentConfig{Tools: []string{"echo", "fails", "panics", "nothing", "cannot", "counts"}}})
	rows := []struct {
		call    llm.ToolCall
		text    string
		isError bool
	}{
		{call("a", "echo", `{"x": "1<2"}`), `{"x":"1<2"}`, false},
		{call("b", "echo", ``), `{}`, false},
		{call("c", "fails", `{}`), `no disk`, true},
		{call("d", "panics", `{}`), `tool_error: panics panicked: boom`, true},
		{call("e", "nothing", `{}`), `tool_error: nothing returned no result`, true},
		{call("f", "cannot", `{}`), `cannot`, true},
		{call("g", "nobody", `{}`),
			`{"error":"unknown_tool","message":"There is no tool nobody.","hint":"The available tools are: echo, ` +
				`fails, panics, nothing, cannot, counts."}`, true},
		{call("h", "counts", `{"x":`),
			`{"error":"invalid_arguments","message":"counts was not run, because its arguments are not ` +
				`one JSON object: unexpected EOF."}`, true},
		{call("i", "counts", `[]`), `not one JSON object`, true},
		{call("j", "counts", `null`), `not one JSON object`, true},
		{call("k", "counts", `{} {}`), `not one JSON object`, true},
		{call("l", "counts", `{"x":1}`), `"validation_errors":[{"path":"$.x"`, true},
		{call("m", "counts", `{"y":"1"}`), `"validation_errors":[{"path":"$.y"`, true},
		{call("n", "counts", `{"x":"`+strings.Repeat("x", 256<<10)+`"}`), `at most 262144 bytes`, true},
	}
	var calls []llm.ToolCall
	for _, r := range rows {
		calls = append(calls, r.call)
	}
	for i, r := range w.once(b, calls...) {
		if r.CallID != rows[i].call.ID || r.Name != rows[i].call.Name || r.IsError != rows[i].isError ||
			!strings.Contains(r.Text, rows[i].text) {
			t.Errorf("call %s returned %+v, want %s", rows[i].call.ID, r, rows[i].text)
		}
	}
	if ran.Load() != 0 {
		t.Error("a tool ran with invalid arguments")
	}
	if n := len(w.traces("llm_tool_started")); n != 6 {
		t.Errorf("%d tools were started", n)
	}
	if n := len(w.traces("llm_tool_result")); n != len(rows) {
		t.Errorf("%d tools have ended", n)
	}
}

// TestMetadata compares the record with seed 002, section 7.
func TestMetadata(t *testing.T) {
	w := newWorld(t)
	b := w.box(tool.Options{Functions: []tool.Tool{echo(t, "echo")},
		Config: &parley.AgentConfig{Tools: []string{"echo"}, InjectedToolArgs: map[string]string{"origin": "who"}}})
	w.once(b, call("a", "echo", `{"x":"1","origin":"me"}`), call("b", "echo", `{"x":1}`))
	byKey := map[string]map[string]any{}
	for _, tr := range w.traces("llm_tool_result") {
		byKey[tr.Data["key"].(string)] = tr.Data
	}
	for key, wanted := range map[string]string{
		"execute.1.0": `{"approval_id":null,"approval_status":"not_required","injected_args":{"origin":"me"},` +
			`"offloaded_artifact_id":null,"status":"success"}`,
		"execute.1.1": `{"approval_id":null,"approval_status":"not_required","injected_args":{},` +
			`"offloaded_artifact_id":null,"status":"error"}`,
	} {
		data := byKey[key]
		m := data["metadata"].(map[string]any)
		for _, name := range []string{"started_at", "completed_at", "execution_time_ms"} {
			if _, ok := m[name].(float64); !ok {
				t.Errorf("%s: %s is %v", key, name, m[name])
			}
			delete(m, name)
		}
		got, _ := json.Marshal(m)
		want(t, key, string(got), wanted)
		if data["success"] != (m["status"] == "success") || data["duration_ms"] == nil ||
			(data["error"] == nil) != (m["status"] == "success") {
			t.Errorf("%s: success %v, error %v, duration_ms %v", key, data["success"], data["error"],
				data["duration_ms"])
		}
	}
	started := w.traces("llm_tool_started")[0].Data
	if fmt.Sprint(started["arguments"], started["injected_args"]) != "map[x:1] map[origin:me]" {
		t.Errorf("started: %v", started)
	}
}

// At most 16 calls of a round run concurrently.
func TestConcurrentCalls(t *testing.T) {
	const calls = 40
	var mu sync.Mutex
	running, most := 0, 0
	sixteen, full := make(chan struct{}, calls), make(chan struct{})
	f := function(t, "meet", func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		mu.Lock()
		running++
		if most = max(most, running); most == running && running == 16 {
			sixteen <- struct{}{}
		}
		mu.Unlock()
		select {
		case <-full:
		case <-ctx.Done():
		}
		mu.Lock()
		defer mu.Unlock()
		running--
		return &tool.Result{Text: c.ID}, nil
	})
	w := newWorld(t)
	b := w.box(tool.Options{Functions: []tool.Tool{f}, Config: &parley.AgentConfig{Tools: []string{"meet"}}})
	var all []llm.ToolCall
	for i := range calls {
		all = append(all, call(strconv.Itoa(i), "meet", "{}"))
	}
	w.later(func() {
		<-sixteen
		for range 30 { // so that other calls can start
			w.events()
		}
		close(full)
	})
	for i, r := range w.once(b, all...) {
		if r.Text != strconv.Itoa(i) {
			t.Errorf("result %d is of call %s", i, r.Text)
		}
	}
	if most != 16 {
		t.Errorf("%d ran at once", most)
	}
}

// The model sees injected arguments in every tool, but no tool gets one.
func TestInjected(t *testing.T) {
	own := `{"type":"object","properties":{"x":{"type":"string"},"taken":{"type":"string"}},"required":["x"],` +
		`"additionalProperties":false}`
	made, err := tool.NewFunc("f", "", json.RawMessage(own), func(_ context.Context, c *tool.Call) (*tool.Result, error) {
		return &tool.Result{Text: string(c.Arguments)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	before := string(made.Spec().Parameters)
	w := newWorld(t)
	b := w.box(tool.Options{Functions: []tool.Tool{made}, Config: &parley.AgentConfig{
		Tools: []string{"f"}, AllowSelfSpawn: true, AllowParallelSubagents: true,
		InjectedToolArgs: map[string]string{"ui_id": "An id.", "taken": "The tool has it."},
	}})
	specs, err := b.Specs(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "what the tool says of itself", string(made.Spec().Parameters), before)
	want(t, "what the model sees",
		string(spec(t, specs, "f").Parameters),
		`{"additionalProperties":false,"properties":{"taken":{"type":"string"},"ui_id":{"description":"An id.",`+
			`"type":"string"},"x":{"type":"string"}},"required":["x"],"type":"object"}`)
	for _, name := range []string{toolnames.SpawnSelf, toolnames.Parallel} {
		contains(t, name, string(spec(t, specs, name).Parameters),
			`"taken":{"description":"The tool has it.","type":"string"}`, `"ui_id":`)
	}
	r := w.once(b, call("a", "f", `{"ui_id":"u1","x":"1","taken":"mine"}`), call("b", "f", `{"x":"1","other":"2"}`))
	want(t, "what the tool got", r[0].Text, `{"taken":"mine","x":"1"}`)
	contains(t, "another argument", r[1].Text, "$.other")
	again, err := b.Specs(t.Context(), nil)
	if err != nil ||
		!slices.EqualFunc(specs, again,
			func(a, b llm.ToolSpec) bool { return string(a.Parameters) == string(b.Parameters) && a.Name == b.Name }) {
		t.Errorf("the specs are others the second time: %v", err)
	}
}

// A large result becomes a file of the conversation.
func TestOffload(t *testing.T) {
	sizes := map[string]int{"small": 32 << 10, "large": 32<<10 + 1, "huge": 2 << 20}
	f := function(t, "give", func(_ context.Context, c *tool.Call) (*tool.Result, error) {
		return &tool.Result{Text: strings.Repeat("é", (sizes[c.ID]+1)/2)[:sizes[c.ID]]}, nil
	})
	w := newWorld(t)
	b := w.box(tool.Options{Functions: []tool.Tool{f}, Config: &parley.AgentConfig{Tools: []string{"give"}}})
	names := slices.Sorted(maps.Keys(sizes))
	var calls []llm.ToolCall
	for _, n := range names {
		calls = append(calls, call(n, "give", "{}"))
	}
	results := w.once(b, calls...)
	hashes := map[string]any{}
	for _, tr := range w.traces("llm_tool_result") {
		hashes[tr.Data["call_id"].(string)] = tr.Data["metadata"].(map[string]any)["offloaded_artifact_id"]
	}
	for i, n := range names {
		hash, large := hashes[n].(string)
		if large != (n != "small") {
			t.Errorf("%s: the file is %v", n, hashes[n])
			continue
		}
		if !large {
			want(t, n, strconv.Itoa(len(results[i].Text)), strconv.Itoa(sizes[n]))
			continue
		}
		contains(t, n, results[i].Text, "sha256 "+hash, "é\n[These are the first 8192 bytes of ")
		a, err := w.ann.GetAttachment(t.Context(), &parley.GetAttachmentParams{ConversationID: w.id, SHA256: hash})
		if err != nil || a.Size < int64(sizes[n]) {
			t.Errorf("%s: the file is %+v: %v", n, a, err)
		}
	}
}

// The record has the first and the last of fast reports. emit_mcp_progress removes those of MCP
// servers only.
func TestProgress(t *testing.T) {
	tells := func(name string) tool.Tool {
		return function(t, name, func(_ context.Context, c *tool.Call) (*tool.Result, error) {
			for i := range 1000 {
				c.Progress(tool.Progress{Done: float64(i + 1), Total: 1000, Text: "on it"})
			}
			return &tool.Result{Text: "done"}, nil
		})
	}
	no := false
	var results []string
	for emit, wanted := range map[*bool]string{nil: "f s__f", &no: "f"} {
		w := newWorld(t)
		b := w.box(tool.Options{
			Functions: []tool.Tool{tells("f")},
			Connect:   connectTo(map[string]*fakeServer{"s": {tools: []tool.Tool{tells("f")}}}),
			Config: &parley.AgentConfig{Tools: []string{"f"}, MCPServers: map[string]parley.MCPServer{"s": {Command: "s"}},
				EmitMCPProgress: emit},
		})
		results = append(results, fmt.Sprint(w.once(b, call("a", "f", "{}"), call("b", "s__f", "{}"))))
		last := map[string]float64{}
		for _, tr := range w.traces("llm_tool_progress") {
			last[tr.Data["tool"].(string)] = tr.Data["progress"].(float64)
		}
		want(t, "the tools that told their progress", strings.Join(slices.Sorted(maps.Keys(last)), " "), wanted)
		for name, n := range last {
			if n != 1000 {
				t.Errorf("the last of %s is %v", name, n)
			}
		}
		if n := len(w.traces("llm_tool_progress")); n > 2*len(last) {
			t.Errorf("%d traces", n)
		}
	}
	want(t, "the results without progress", results[0], results[1])
}

// NewFunc refuses names and schemas that models do not accept.
func TestNewFunc(t *testing.T) {
	for name, row := range map[string][2]string{
		"no name":      {"", `{}`},
		"dots":         {"a.b", `{}`},
		"spawner":      {"spawn_self", `{}`},
		"no schema":    {"f", ``},
		"no object":    {"f", `true`},
		"wrong schema": {"f", `{"type":"thing"}`},
	} {
		if _, err := tool.NewFunc(row[0], "", json.RawMessage(row[1]), nil); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
