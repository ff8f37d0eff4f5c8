package anthropic_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
)

// whole returns a message, and streamed the same message as events. In a block, the member deltas
// has the deltas.
func whole(stop string, blocks ...string) string {
	return `{"id":"m","type":"message","role":"assistant","model":"x","content":[` + strings.Join(blocks, ",") +
		`],"stop_reason":"` + stop + `","usage":{"input_tokens":5,"output_tokens":3}}`
}

func streamed(stop string, events ...string) string {
	all := `data: {"type":"message_start","message":{"id":"m","type":"message","model":"x","content":[],` +
		`"usage":{"input_tokens":5,"output_tokens":1}}}` + "\n\n"
	for _, e := range events {
		all += "data: " + e + "\n\n"
	}
	return all + `data: {"type":"message_delta","delta":{"stop_reason":"` + stop + `"},"usage":{"output_tokens":3}}` +
		"\n\n" +
		`data: {"type":"message_stop"}` + "\n\n"
}

func begin(block string) string {
	return `{"type":"content_block_start","index":0,"content_block":` + block + `}`
}

func delta(d string) string { return `{"type":"content_block_delta","index":0,"delta":` + d + `}` }

// exchange calls a server that answers with the bodies in turn. It returns the answer, its chunks
// and the requests, of which the last has the answer and results for all calls.
func exchange(t *testing.T, req *llm.Request, stream bool, bodies ...string) (*llm.Response, []llm.Chunk, []string) {
	t.Helper()
	var requests []string
	p := vendor.Provider(t, wiretest.Raw(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		body := bodies[min(len(requests), len(bodies)-1)]
		requests = append(requests, string(raw))
		w.Header().Set("Content-Type", "text/event-stream")
		if body[0] == '{' {
			w.Header().Set("Content-Type", "application/json")
		}
		io.WriteString(w, body)
	}), "", nil)
	var all []llm.Chunk
	var emit func(llm.Chunk) error
	if stream {
		emit = wiretest.Collect(&all)
	}
	asked := *req
	asked.Model, asked.Messages = "m", []llm.Message{{Role: llm.RoleUser, Text: "hi"}}
	r, err := p.Call(t.Context(), &asked, emit)
	if err != nil {
		t.Fatalf("streamed %t: %v", stream, err)
	}
	said, results := r.Message(), llm.Message{Role: llm.RoleTool}
	said.ToolCalls = slices.Clone(said.ToolCalls)
	for i, c := range said.ToolCalls {
		if c.ID == "" { // the runtime sets it
			said.ToolCalls[i].ID = "call_1"
		}
		results.Results = append(results.Results, llm.ToolResult{CallID: said.ToolCalls[i].ID, Name: c.Name, Text: "found"})
	}
	asked.Messages = append(asked.Messages, said, results)
	if _, err = p.Call(t.Context(), &asked, nil); err != nil {
		t.Fatal(err)
	}
	return r, all, requests
}

// TestLossless reads answers with blocks and members that the API does not define, and sends them
// back. Each answer is read as a stream and as a whole, whatever was asked for.
func TestLossless(t *testing.T) {
	call := func(id, arguments string) []llm.ToolCall {
		return []llm.ToolCall{{ID: id, Name: "f", Arguments: arguments}}
	}
	off := false
	for name, c := range map[string]struct {
		think     *bool
		bodies    []string
		text      string
		reasoning string
		calls     []llm.ToolCall
		has       []string // texts of the next request
	}{
		"thoughts": {bodies: []string{
			whole("tool_use", `{"type":"thinking","thinking":"Hm.","signature":"S1","new":{"a":1}}`,
				`{"type":"redacted_thinking","data":"R1"}`, `{"type":"tool_use","id":"a","name":"f","input":{}}`),
			streamed("tool_use", begin(`{"type":"thinking","thinking":"","signature":"","new":{"a":1}}`),
				delta(`{"type":"thinking_delta","thinking":"H"}`), delta(`{"type":"thinking_delta","thinking":"m."}`),
				delta(`{"type":"signature_delta","signature":"S1"}`),
				begin(`{"type":"redacted_thinking","data":"R1"}`), begin(`{"type":"tool_use","id":"a","name":"f","input":{}}`)),
		}, reasoning: "Hm.", calls: call("a", "{}"), has: []string{`"signature":"S1"`, `"new":{"a":1}`, `"data":"R1"`,
			`"thinking":"Hm."`}},
		"an unknown block": {bodies: []string{
			whole("end_turn", `{"type":"dream","sleep":"deep"}`, `{"type":"text","text":"ok"}`),
			streamed("end_turn", begin(`{"type":"dream","sleep":"de"}`), delta(`{"type":"dream_delta","sleep":"ep"}`),
				begin(`{"type":"text","text":"ok"}`)),
		}, text: "ok", has: []string{`"sleep":"deep"`}},
		"a member of a call": {bodies: []string{
			whole("end_turn", `{"type":"tool_use","id":"a","name":"f","input":{},"signature":"S1"}`),
			streamed("end_turn", begin(`{"type":"tool_use","id":"a","name":"f","input":{}}`),
				delta(`{"type":"signature_delta","signature":"S1"}`)),
		}, calls: call("a", "{}"), has: []string{`"signature":"S1"`}},
		"citations": {bodies: []string{
			streamed("end_turn", begin(`{"type":"text","text":""}`), delta(`{"type":"text_delta","text":"ok"}`),
				delta(`{"type":"citations_delta","citation":{"type":"page","title":"A"}}`), delta(`{"type":"citations_delta",`+
					`"citation":{"type":"page","title":"B"}}`)),
		}, text: "ok", has: []string{`"title":"A"`, `"title":"B"`}},
		"input that was cut": {bodies: []string{
			streamed("max_tokens", begin(`{"type":"tool_use","id":"a","name":"f","input":{},"signature":"S1"}`),
				delta(`{"type":"input_json_delta","partial_json":"{\"q\":"}`)),
		}, calls: call("a", `{"q":`), has: []string{`"input":{"arguments":"{\"q\":"}`, `"signature":"S1"`}},
		"a call without an id": {bodies: []string{
			whole("tool_use", `{"type":"tool_use","name":"f","input":{},"signature":"S1"}`),
		}, calls: call("", "{}"), has: []string{`"id":"call_1"`, `"signature":"S1"`, `"tool_use_id":"call_1"`}},
		"think tags": {bodies: []string{
			whole("end_turn", `{"type":"text","text":"<think>secret</think>\nYes."}`),
			streamed("end_turn", begin(`{"type":"text","text":"<thi"}`), delta(`{"type":"text_delta",`+
				`"text":"nk>secret</thin"}`), delta(`{"type":"text_delta","text":"k>\nYes."}`)),
		}, text: "Yes.", reasoning: "secret"},
		"think tags that are text": {think: &off, bodies: []string{
			whole("end_turn", `{"type":"text","text":"<think>a</think>b"}`),
		}, text: "<think>a</think>b"},
		"half a character": {bodies: []string{
			whole("end_turn", `{"type":"text","text":"a\ud83d\ude00b\ud83d"}`),
			streamed("end_turn", begin(`{"type":"text","text":"a\ud83d"}`), delta(`{"type":"text_delta","text":"\ude00b"}`),
				delta(`{"type":"text_delta","text":"\ud83d"}`)),
		}, text: "a😀b\uFFFD"},
		"a block that is no object": {bodies: []string{
			whole("end_turn", `null`, `{"type":"text","text":"ok"}`),
			streamed("end_turn", begin(`null`), delta(`{"type":"input_json_delta","partial_json":"{"}`),
				begin(`{"type":"text","text":"ok"}`)),
		}, text: "ok"},
		"content that is a text": {bodies: []string{
			`{"id":"m","type":"message","content":"ok","stop_reason":"end_turn"}`,
		}, text: "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			for i, body := range c.bodies {
				for _, stream := range []bool{false, true} {
					r, all, requests := exchange(t, &llm.Request{ThinkTags: c.think}, stream, body)
					if r.Text != c.text || r.Reasoning != c.reasoning || !reflect.DeepEqual(r.ToolCalls, c.calls) {
						t.Errorf("body %d, streamed %t: %q, reasoning %q, calls %+v", i, stream, r.Text, r.Reasoning, r.ToolCalls)
					}
					if stream && wiretest.Text(all) != c.text {
						t.Errorf("body %d: the chunks are %+v", i, all)
					}
					for _, text := range c.has {
						if !strings.Contains(requests[1], text) {
							t.Errorf("body %d, streamed %t: no %s in %s", i, stream, text, requests[1])
						}
					}
				}
			}
		})
	}
}

// A paused turn continues with its content, until a bound.
func TestPausedTurn(t *testing.T) {
	paused := whole("pause_turn", `{"type":"text","text":"One. "}`, `{"type":"server_tool_use","id":"s","name":"web",`+
		`"input":{"q":1}}`)
	for _, stream := range []bool{false, true} {
		r, all, requests := exchange(t, &llm.Request{}, stream, paused, paused, whole("end_turn", `{"type":"text",`+
			`"text":"Two."}`))
		if r.Text != "One. One. Two." || r.Finish != llm.FinishStop || r.Usage.PromptTokens != 15 ||
			r.Usage.CompletionTokens != 9 {
			t.Errorf("streamed %t: %+v", stream, r)
		}
		if stream && wiretest.Text(all) != r.Text {
			t.Errorf("the chunks are %+v", all)
		}
		if len(requests) != 4 || strings.Count(requests[1], `"role":"assistant"`) != 1 || strings.Count(requests[2],
			"server_tool_use") != 2 {
			t.Errorf("the requests are %v", requests)
		}
		var blocks []json.RawMessage
		if err := json.Unmarshal(r.Opaque.Data, &blocks); err != nil || len(blocks) != 5 {
			t.Errorf("opaque %s, %v", r.Opaque.Data, err)
		}
	}
	if r, _, _ := exchange(t, &llm.Request{}, false, paused); r.Finish != llm.FinishOther {
		t.Errorf("a turn that pauses again and again: %+v", r)
	}
	if r, _, _ := exchange(t, &llm.Request{}, false, whole("pause_turn")); r.Finish != llm.FinishOther {
		t.Errorf("a paused turn without content: %+v", r)
	}
	calls := 0
	p := vendor.Provider(t, wiretest.Raw(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if calls++; calls > 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		io.WriteString(w, paused)
	}), "", nil)
	_, err := p.Call(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleUser, Text: "hi"}}}, nil)
	var e *llm.ProviderError
	if !errors.As(err, &e) || e.Usage == nil || e.Usage.PromptTokens != 10 || e.Usage.CompletionTokens != 6 {
		t.Errorf("a continuation that fails: %+v", err)
	}
}
