package tool_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/internal/toolnames"
)

// A tool gets arguments that match its own schema, whatever form of it the model sees: without null
// for optional arguments, and under its own names. Invalid parts of a schema are not checked.
func TestArgumentsOfAdaptedTools(t *testing.T) {
	schemas := map[string]string{
		"opt": `{"type":"object","properties":{"q":{"type":"string"},"n":{"type":"integer"},"o":{"type":["string","null"]},` +
			`"l":{"type":"array","items":{"properties":{"n":{"type":"integer"}}}}},"required":["q"]}`,
		"any": `{"anyOf":[{"properties":{"content":{"type":"string"}},"required":["content"]},` +
			`{"properties":{"url":{"type":"string"}},"required":["url"]}]}`,
		"alias": `{"type":"object","properties":{"filter[a]":{"type":"string"}},"additionalProperties":false}`,
		"ahead": `{"type":"object","properties":{"e":{"type":"string","pattern":"^(?!a)"},"n":{"type":"integer"}}}`,
		"draft": `{"type":"object","properties":{"q":{"type":"string","required":true},"n":{"type":"int"}}}`,
	}
	var tools []tool.Tool
	for name, schema := range schemas {
		tools = append(tools, shaped{named{echo(t, "c"), name}, schema})
	}
	w := newWorld(t)
	b := w.box(tool.Options{Config: &parley.AgentConfig{MCPServers: map[string]parley.MCPServer{"s": {Command: "s"}}},
		Connect: connectTo(map[string]*fakeServer{"s": {tools: tools}})})
	specs, _, err := b.Specs(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var seen struct{ Properties map[string]any }
	if err := json.Unmarshal(spec(t, specs, "s__alias").Parameters, &seen); err != nil || len(seen.Properties) != 1 {
		t.Fatalf("%v %v", seen, err)
	}
	alias := slices.Collect(maps.Keys(seen.Properties))[0]
	rows := []struct{ name, arguments, text string }{
		{"s__opt", `{"q":"x","n":null,"o":null,"l":[{"n":null}]}`, `{"l":[{}],"o":null,"q":"x"}`},
		{"s__opt", `{"q":null}`, `'q' is null, which is not of type 'string'`},
		{"s__any", `{"url":"u","content":null}`, `{"url":"u"}`},
		{"s__any", `{"content":5}`, `"invalid_arguments"`},
		{"s__any", `{}`, `"invalid_arguments"`},
		{"s__alias", `{"` + alias + `":"x"}`, `{"filter[a]":"x"}`},
		{"s__alias", `{"` + alias + `":1}`, `"path":"$[\"filter[a]\"]"`},
		{"s__ahead", `{"e":"a","n":1}`, `{"e":"a","n":1}`},
		{"s__ahead", `{"n":"many"}`, `"path":"$.n"`},
		{"s__draft", `{"n":1}`, `{"n":1}`},
		{"s__draft", `{"n":"x"}`, `"path":"$.n"`},
	}
	var calls []llm.ToolCall
	for i, r := range rows {
		calls = append(calls, call(strconv.Itoa(i), r.name, r.arguments))
	}
	for i, r := range w.once(b, calls...) {
		if !strings.Contains(r.Text, rows[i].text) {
			t.Errorf("%s %s returned %s, want %s", rows[i].name, rows[i].arguments, r.Text, rows[i].text)
		}
	}
}

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
		{call("o", "echo", ` null`), `{}`, false},
		{call("p", "echo", `"{\"x\":\"1\"}"`), `{"x":"1"}`, false},
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
		{call("j", "counts", `"x"`), `not one JSON object`, true},
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
	if n := len(w.traces("llm_tool_started")); n != 8 {
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
	specs, _, err := b.Specs(t.Context(), nil)
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
	again, _, err := b.Specs(t.Context(), nil)
	if err != nil ||
		!slices.EqualFunc(specs, again,
			func(a, b llm.ToolSpec) bool { return string(a.Parameters) == string(b.Parameters) && a.Name == b.Name }) {
		t.Errorf("the specs are others the second time: %v", err)
	}
}

// A large result becomes a file of the conversation. The model reads its beginning and its end, and
// the rest with read_file. An error is a result too.
func TestOffload(t *testing.T) {
	lines := strings.Repeat("one line of a long result\n", 1024)
	texts := map[string]string{
		"a small": lines, // 26 KiB
		"b most":  strings.Repeat("é", 25_000),
		"c large": strings.Repeat("é", 25_001),
		"d huge":  "BEGIN" + strings.Repeat(lines, 80) + "END",
		"e space": strings.Repeat(" ", 300<<10), // counts no tokens
		"f marks": strings.Repeat("<", 24_000) + strings.Repeat("words ", 40_000),
		"g error": strings.Repeat("no! ", 25_000),
		"h json":  `{"a":"` + strings.Repeat("é,", 25_000) + `"}`,
	}
	f := function(t, "give", func(_ context.Context, c *tool.Call) (*tool.Result, error) {
		if strings.Contains(c.ID, "error") {
			return nil, errors.New(texts[c.ID])
		}
		return &tool.Result{Text: texts[c.ID]}, nil
	})
	w := newWorld(t)
	b := w.box(tool.Options{Functions: []tool.Tool{f}, Config: &parley.AgentConfig{Tools: []string{"give"}}})
	names := slices.Sorted(maps.Keys(texts))
	var calls []llm.ToolCall
	for _, n := range names {
		calls = append(calls, call(n, "give", "{}"))
	}
	hashes := func() map[string]string {
		all := map[string]string{}
		for _, tr := range w.traces("llm_tool_result") {
			all[tr.Data["call_id"].(string)], _ = tr.Data["metadata"].(map[string]any)["offloaded_artifact_id"].(string)
		}
		return all
	}
	var reader llm.ToolSpec
	var parts []llm.ToolResult
	var results []llm.ToolResult
	w.attempts(func(ctx context.Context, turn *parley.Turn) {
		results = w.run(ctx, turn, b, calls...)
		var ok bool
		var err error
		if reader, ok, err = b.ReaderSpec(ctx, turn.Client); err != nil || !ok {
			t.Errorf("there is no read_file: %v", err)
		}
		for i := 0; i < len(texts["d huge"]); i += 64 << 10 {
			w.steps++
			parts = append(parts, w.run(ctx, turn, b, call("read", reader.Name,
				fmt.Sprintf(`{"sha256":%q,"offset":%d,"limit":65536}`, hashes()["d huge"], i)))...)
		}
	})
	for i, n := range names {
		hash, text := hashes()[n], results[i].Text
		if large := n > "c"; large != (hash != "") || results[i].IsError != (n == "g error") {
			t.Errorf("%s: the file is %q, error %t", n, hash, results[i].IsError)
			continue
		}
		if hash == "" {
			want(t, n, text, texts[n])
			continue
		}
		contains(t, n, text[:300], "sha256 "+hash+". Read the rest with read_file, from offset ")
		if llm.CountTokens(text) > 25_000+200 || len(text) > 400<<10 || !utf8.ValidString(text) {
			t.Errorf("%s: %d bytes, %d tokens", n, len(text), llm.CountTokens(text))
		}
		a, err := w.ann.GetAttachment(t.Context(), &parley.GetAttachmentParams{ConversationID: w.id, SHA256: hash})
		if err != nil || a.Size < int64(len(texts[n])) {
			t.Errorf("%s: the file is %+v: %v", n, a, err)
		}
	}
	contains(t, "the beginning", results[3].Text[:400], "BEGIN")
	contains(t, "the end", results[3].Text[len(results[3].Text)-10:], "END")
	whole := ""
	for _, r := range parts {
		_, text, _ := strings.Cut(r.Text, "]\n")
		whole += text
	}
	if whole != texts["d huge"] {
		t.Errorf("read_file returned %d bytes in %d parts: expected the %d of the file", len(whole), len(parts),
			len(texts["d huge"]))
	}
	if reader.Name != "read_file" {
		t.Errorf("the tool is %q", reader.Name)
	}
}

// TestReadFile reads parts of files. It never splits a character.
func TestReadFile(t *testing.T) {
	w := newWorld(t)
	b := w.box(tool.Options{ResultTokens: 500,
		Config: &parley.AgentConfig{InjectedToolArgs: map[string]string{"why": "a reason"}}})
	w.attempts(func(ctx context.Context, turn *parley.Turn) {
		file := func(data string) string {
			a, err := turn.Attach(ctx, "f", "text/plain", []byte(data))
			if err != nil {
				t.Fatal(err)
			}
			return a.SHA256
		}
		letters, euros := file("abcdefghij"), file("a€€€")
		many, binary := file(strings.Repeat("word ", 5000)), file("\x89PNG\r\n\x1a\n\x00\x00")
		latin, empty := file("caf\xe9 au lait"), file(" ")
		for _, c := range []struct{ arguments, want string }{
			{`{"sha256":"` + letters + `"}`, "[Bytes 0 to 10 of 10. This is the end of the file.]\nabcdefghij"},
			{`{"sha256":"` + letters + `","offset":2,"limit":3}`, "[Bytes 2 to 5 of 10. Continue at offset 5.]\ncde"},
			{`{"sha256":"sha256:` + strings.ToUpper(letters) + `","offset":8.0,"limit":99999999999999999999}`,
				"[Bytes 8 to 10 of 10. This is the end of the file.]\nij"},
			{`{"sha256":"` + letters + `","offset":10}`, "[The file has 10 bytes. There is nothing at offset 10.]"},
			{`{"sha256":"` + letters + `","offset":11}`, "[The file has 10 bytes. There is nothing at offset 11.]"},
			{`{"sha256":"` + letters + `","offset":9000000}`, "The offset 9000000 is beyond the end of the file."},
			{`{"sha256":"` + letters + `","offset":-1}`, "$.offset"},
			{`{"sha256":"` + letters + `","limit":0}`, "$.limit"},
			{`{"sha256":"` + letters + `","why":"to know"}`, "abcdefghij"},
			{`{"sha256":"` + euros + `","offset":1,"limit":4}`, "[Bytes 1 to 4 of 10. Continue at offset 4.]\n€"},
			{`{"sha256":"` + euros + `","offset":2,"limit":1}`, "[Bytes 1 to 4 of 10. Continue at offset 4.]\n€"},
			{`{"sha256":"` + euros + `","offset":6,"limit":100}`, "[Bytes 4 to 10 of 10. This is the end of the file.]\n€€"},
			{`{"sha256":"` + euros + `","offset":9,"limit":100}`, "[Bytes 7 to 10 of 10. This is the end of the file.]\n€"},
			{`{"sha256":"` + many + `"}`, "[Bytes 0 to 2180 of 25000. Continue at offset 2180.]\nword word "},
			{`{"sha256":"` + binary + `"}`, binary + " has 10 bytes and is not text"},
			{`{"sha256":"` + latin + `"}`, "is not text"},
			{`{"sha256":"` + latin + `","limit":3}`, "[Bytes 0 to 3 of 12. Continue at offset 3.]\ncaf"},
			{`{"sha256":"` + empty + `"}`, "[Bytes 0 to 1 of 1. This is the end of the file.]\n "},
			{`{"sha256":"` + strings.Repeat("0", 64) + `"}`, "This conversation has no file with the sha256 000"},
			{`{"sha256":"all.txt"}`, "sha256 is not the hash of a file."},
			{`{}`, "is a required property"},
		} {
			w.steps++
			got := w.run(ctx, turn, b, call("a", "read_file", c.arguments))[0].Text
			if strings.HasPrefix(c.want, "[") && !strings.HasSuffix(c.want, "word ") {
				want(t, c.arguments, got, c.want)
			}
			contains(t, c.arguments, got, c.want)
		}
	})
	for _, tr := range w.traces("llm_tool_result") {
		if id := tr.Data["metadata"].(map[string]any)["offloaded_artifact_id"]; id != nil {
			t.Errorf("an answer of read_file was stored: %v", id)
		}
	}
}

// TestReadFileBesideAnother has a function named read_file.
func TestReadFileBesideAnother(t *testing.T) {
	w := newWorld(t)
	b := w.box(tool.Options{ResultTokens: 300, Functions: []tool.Tool{function(t, "read_file",
		func(context.Context, *tool.Call) (*tool.Result, error) {
			return &tool.Result{Text: strings.Repeat("own words ", 1000)}, nil
		})}, Config: &parley.AgentConfig{Tools: []string{"read_file"}}})
	contains(t, "the result", w.once(b, call("a", "read_file", "{}"))[0].Text, "own words", "with read_stored_file,")
}

// TestImagesOfResults stores images, and reads them from the conversation in the next attempt.
func TestImagesOfResults(t *testing.T) {
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	one, err := llm.NewImage("", buf.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var ran atomic.Int32
	f := function(t, "look", func(context.Context, *tool.Call) (*tool.Result, error) {
		ran.Add(1)
		return &tool.Result{Text: "see", Files: []llm.File{one}}, nil
	})
	for _, images := range []bool{true, false} {
		w := newWorld(t)
		b := w.box(tool.Options{Images: images, Functions: []tool.Tool{f},
			Config: &parley.AgentConfig{Tools: []string{"look"}}})
		var all [][]llm.ToolResult
		do := func(ctx context.Context, turn *parley.Turn) {
			all = append(all, w.run(ctx, turn, b, call("a", "look", "{}")))
		}
		ran.Store(0)
		w.attempts(do, do)
		if n := ran.Load(); n != 1 {
			t.Errorf("the tool ran %d times", n)
		}
		for _, results := range all {
			switch r := results[0]; {
			case !images:
				want(t, "the result", r.Text, "see\n[The image 1 of this result is not shown, because the model takes no images.]")
			case r.Text != "see" || len(r.Files) != 1 || !bytes.Equal(r.Files[0].Data, buf.Bytes()) ||
				r.Files[0].MediaType != "image/png" || r.Files[0].Name != "look.png":
				t.Errorf("the result is %+v", r)
			}
		}
		raw, err := json.Marshal(w.traces("llm_tool_result"))
		if err != nil || strings.Contains(string(raw), one.SHA256) != images ||
			strings.Contains(string(raw), base64.StdEncoding.EncodeToString(buf.Bytes()[:30])) {
			t.Errorf("the record is %s", raw)
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
