package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
)

// delta returns an event of a chat completion, and last the end of the stream.
func delta(d string) string {
	return `data: {"id":"1","model":"m","choices":[{"index":0,"delta":` + d + `}]}` + "\n\n"
}

func last(reason string) string {
	return `data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}` + "\n\ndata: [DONE]\n\n"
}

func whole(message, reason string) string {
	return `{"id":"1","model":"m","choices":[{"index":0,"message":` + message + `,"finish_reason":"` + reason + `"}]}`
}

func response(items string) string {
	return `{"id":"1","object":"response","status":"completed","model":"m","output":[` + items + `]}`
}

func completed(items string) string {
	return `data: {"type":"response.completed","response":` + response(items) + "}\n\n"
}

// exchange asks a server that answers with the body, and returns the answer and the next request,
// which has results for all calls.
func exchange(t *testing.T, req *llm.Request, stream bool, body string) (r *llm.Response, all []llm.Chunk,
	next string) {
	t.Helper()
	var requests []string
	p := vendor.Provider(t, wiretest.Raw(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		requests = append(requests, string(raw))
		w.Header().Set("Content-Type", "text/event-stream")
		if body[0] == '{' {
			w.Header().Set("Content-Type", "application/json")
		}
		io.WriteString(w, body)
	}), "", nil)
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
	kept, err := json.Marshal(r.Message()) // the record stores the message as JSON
	if err != nil {
		t.Fatal(err)
	}
	var said llm.Message
	if err := json.Unmarshal(kept, &said); err != nil {
		t.Fatal(err)
	}
	results := llm.Message{Role: llm.RoleTool}
	for i := range said.ToolCalls {
		if said.ToolCalls[i].ID == "" { // the runtime sets it
			said.ToolCalls[i].ID = "call_1"
		}
		results.Results = append(results.Results,
			llm.ToolResult{CallID: said.ToolCalls[i].ID, Name: said.ToolCalls[i].Name, Text: "found"})
	}
	asked.Messages = append(asked.Messages, said, results)
	if _, err = p.Call(t.Context(), &asked, nil); err != nil {
		t.Fatal(err)
	}
	return r, all, requests[1]
}

// TestLossless reads answers with members that the API does not define, and sends them back. Each
// answer is read as a stream and as a whole, whatever was asked for.
func TestLossless(t *testing.T) {
	call := func(id, name, arguments string) llm.ToolCall {
		return llm.ToolCall{ID: id, Name: name, Arguments: arguments}
	}
	off := false
	for name, c := range map[string]struct {
		api       llm.API
		think     *bool
		bodies    []string
		text      string
		reasoning string
		calls     []llm.ToolCall
		has, not  []string // texts of the next request
	}{
		"a signature of a call": {bodies: []string{
			delta(`{"role":"assistant","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f",`+
				`"arguments":"{}"},"extra_content":{"google":{"thought_signature":"S1"}}},{"index":1,"id":"b",`+
				`"function":{"name":"f","arguments":"{}"}}]}`) + last("tool_calls"),
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`) +
				delta(`{"tool_calls":[{"index":0,"extra_content":{"google":{"thought_signature":"S"}}},{"index":1,"id":"b",`+
					`"function":{"name":"f","arguments":"{}"}}]}`) +
				delta(`{"tool_calls":[{"index":0,"extra_content":{"google":{"thought_signature":"1"}}}]}`) + last("tool_calls"),
			whole(`{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},`+
				`"extra_content":{"google":{"thought_signature":"S1"}}},{"id":"b","function":{"name":"f","arguments":"{}"}}]}`,
				"tool_calls"),
		}, calls: []llm.ToolCall{call("a", "f", "{}"), call("b", "f", "{}")},
			has: []string{`"extra_content":{"google":{"thought_signature":"S1"}}`}},
		"a member of a function": {bodies: []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}","signature":"S1"}}]}`) +
				last("tool_calls"),
			whole(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}","signature":"S1"}}]}`, "stop"),
		}, calls: []llm.ToolCall{call("a", "f", "{}")}, has: []string{`"signature":"S1"`, `"arguments":"{}"`}},
		"reasoning of a message": {bodies: []string{
			delta(`{"role":"assistant","content":null,"reasoning_content":"Let me "}`) + delta(`{"reasoning_content":"look."}`) +
				delta(`{"reasoning_content":null,"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}`+
					`"}}]}`) + last("tool_calls"),
			whole(`{"content":"","annotations":[],"audio":null,"reasoning_content":"Let me look.","tool_calls":[{"id":"a",`+
				`"function":{"name":"f","arguments":"{}"}}]}`, "tool_calls"),
		}, reasoning: "Let me look.", calls: []llm.ToolCall{call("a", "f", "{}")},
			has: []string{`"reasoning_content":"Let me look."`}, not: []string{"annotations", "audio", "null"}},
		"a list of details": {bodies: []string{
			delta(`{"reasoning_details":[{"type":"reasoning.text","text":"Let ","index":0}]}`) +
				delta(`{"reasoning_details":[{"type":"reasoning.text","text":"me.","index":0}]}`) +
				delta(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"E","index":1}]}`) +
				delta(`{"content":"ok"}`) + last("stop"),
			whole(`{"content":"ok","reasoning_details":[{"type":"reasoning.text","text":"Let me.","index":0},`+
				`{"type":"reasoning.encrypted","data":"E","index":1}]}`, "stop"),
		}, text: "ok",
			has: []string{`"reasoning_details":[{"index":0,"text":"Let me.","type":"reasoning.text"},{"data":"E","index":1,` +
				`"type":"reasoning.encrypted"}]`, `"content":"ok"`}},
		"only known members": {bodies: []string{
			delta(`{"role":"assistant","content":"ok","refusal":null,"reasoning":null}`) + last("stop"),
			whole(`{"role":"assistant","content":[{"type":"text","text":"o"},{"type":"text","text":"k"}],"refusal":null,`+
				`"annotations":[]}`, "stop"),
		}, text: "ok", has: []string{`{"content":"ok","role":"assistant"}`}},
		"a list with thoughts": {bodies: []string{
			delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]}]}`) +
				delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"."}]}]}`) + delta(`{"content":"ok"}`) +
				last("stop"),
			whole(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"ok"}]}`,
				"stop"),
		}, text: "ok", reasoning: "Hm.", has: []string{`"thinking":[{"text":"Hm.","type":"text"}]`, `{"text":"ok",` +
			`"type":"text"}`}},
		"think tags": {bodies: []string{
			delta(`{"content":" \n<thi"}`) + delta(`{"content":"nk>secret</th"}`) + delta(`{"content":"ink>"}`) +
				delta(`{"content":"\n\nYes."}`) + last("stop"),
			whole(`{"content":" \n<think>secret</think>\n\nYes."}`, "stop"),
		}, text: "Yes.", reasoning: "secret",
			has: []string{`"content":" \n\u003cthink\u003esecret\u003c/think\u003e\n\nYes."`}},
		"think tags before a call": {bodies: []string{
			delta(`{"content":"<think>secret</think>"}`) + delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f",`+
				`"arguments":"{}"}}]}`) + last("tool_calls"),
			whole(`{"content":"<think>secret</think>","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}`,
				"tool_calls"),
		}, reasoning: "secret", calls: []llm.ToolCall{call("a", "f", "{}")}},
		"think tags that are text": {think: &off, bodies: []string{
			delta(`{"content":"<think>a</think>b"}`) + last("stop"), whole(`{"content":"<think>a</think>b"}`, "stop"),
		}, text: "<think>a</think>b"},
		"think tags without an end": {bodies: []string{
			delta(`{"content":"<think>secret</thi"}`) + last("length"), whole(`{"content":"<think>secret</thi"}`, "length"),
		}, reasoning: "secret</thi"},
		"think tags later in the text": {bodies: []string{
			delta(`{"content":"Write <think>"}`) + delta(`{"content":"a</think>."}`) + last("stop"),
			whole(`{"content":"Write <think>a</think>."}`, "stop"),
		}, text: "Write <think>a</think>."},
		"think tags in responses": {api: llm.APIResponses, bodies: []string{
			`data: {"type":"response.output_text.delta","output_index":0,"delta":"<think>secret</thi"}` + "\n\n" +
				`data: {"type":"response.output_text.delta","output_index":0,"delta":"nk>Yes."}` + "\n\n" +
				completed(`{"type":"message","role":"assistant","content":[{"type":"output_text",`+
					`"text":"<think>secret</think>Yes."}]}`),
			response(`{"type":"message","role":"assistant","content":[{"type":"output_text",` +
				`"text":"<think>secret</think>Yes."}]}`),
		}, text: "Yes.", reasoning: "secret"},
		"half a character": {bodies: []string{
			delta(`{"content":"a\ud83d"}`) + delta(`{"content":"\uDE00b\ud83d"}`) + delta(`{"content":"c\ude00"}`) +
				last("stop"),
			whole(`{"content":"a\ud83d\ude00b\ud83dc\ude00"}`, "stop"),
		}, text: "a😀b\uFFFDc\uFFFD"},
		"half a character in reasoning and arguments": {bodies: []string{
			delta(`{"reasoning_content":"r\ud83d"}`) + delta(`{"reasoning_content":"\ude00"}`) +
				delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"q\":\"\ud83d"}}]}`) +
				delta(`{"tool_calls":[{"index":0,"function":{"arguments":"\ude00\"}"}}]}`) + last("tool_calls"),
		}, reasoning: "r😀", calls: []llm.ToolCall{call("a", "f", `{"q":"😀"}`)},
			has: []string{`"reasoning_content":"r😀"`}},
		"half a character in responses": {api: llm.APIResponses, bodies: []string{
			`data: {"type":"response.output_text.delta","output_index":0,"delta":"\ud83d"}` + "\n\n" +
				`data: {"type":"response.output_text.delta","output_index":0,"delta":"\ude00"}` + "\n\n" +
				completed(`{"type":"message","content":[{"type":"output_text","text":"\ud83d\ude00"}]}`),
		}, text: "😀"},
		"arguments that are no object": {bodies: []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"q\": \"x"}},{"index":1,"id":"b",`+
				`"function":{"name":"f","arguments":"[1]"}},{"index":2,"id":"c","function":{"name":"f","arguments":" "}},`+
				`{"index":3,"id":"d","function":{"name":"f","arguments":"{\"q\":\"\\ud83d\"}"}}]}`) + last("length"),
		}, calls: []llm.ToolCall{call("a", "f", `{"q": "x`), call("b", "f", "[1]"), call("c", "f", " "), call("d", "f",
			`{"q":"\ud83d"}`)},
			has: []string{`"arguments":"{\"arguments\":\"{\\\"q\\\": \\\"x\"}"`, `"arguments":"{\"arguments\":\"[1]\"}"`,
				`"arguments":"{}"`, `"arguments":"{\"q\":\"` + "\uFFFD" + `\"}"`}},
		"arguments that are an object": {bodies: []string{
			delta(`{"tool_calls":[{"function":{"name":"f","arguments":{"q":1}}}]}`) + last("stop"),
			whole(`{"tool_calls":[{"function":{"name":"f","arguments":{"q":1}}}]}`, "stop"),
		}, calls: []llm.ToolCall{call("", "f", `{"q":1}`)}, has: []string{`"arguments":"{\"q\":1}"`}},
		"arguments that are a list": {bodies: []string{
			delta(`{"tool_calls":[{"function":{"name":"f","arguments":["x"]}}]}`) + last("stop"),
			whole(`{"tool_calls":[{"function":{"name":"f","arguments":["x"]}}]}`, "stop"),
		}, calls: []llm.ToolCall{call("", "f", `["x"]`)}, has: []string{`"arguments":"{\"arguments\":\"[\\\"x\\\"]\"}"`}},
		"function_call": {bodies: []string{
			delta(`{"role":"assistant","function_call":{"name":"f","arguments":"{\"q\":"}}`) +
				delta(`{"function_call":{"arguments":"1}"}}`) + last("function_call"),
			whole(`{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{\"q\":1}"}}`, "function_call"),
		}, calls: []llm.ToolCall{call("", "f", `{"q":1}`)},
			has: []string{`"function_call":{"arguments":"{\"q\":1}","name":"f"}`, `"role":"function"`},
			not: []string{"tool_calls", "call_1"}},
		"both forms of one call": {bodies: []string{
			whole(`{"function_call":{"name":"f","arguments":"{}"},"tool_calls":[{"id":"a","function":{"name":"f",`+
				`"arguments":"{}"}}]}`, "tool_calls"),
		}, calls: []llm.ToolCall{call("a", "f", "{}")}, not: []string{"function_call"}},
		"unknown members of items": {api: llm.APIResponses, bodies: []string{
			completed(`{"type":"reasoning","id":"r","summary":[],"encrypted_content":"E1"},{"type":"function_call","id":"x",` +
				`"call_id":"a","name":"f","arguments":"{}","signature":"S1"}`),
			response(`{"type":"reasoning","id":"r","summary":[],"encrypted_content":"E1"},{"type":"function_call","id":"x",` +
				`"call_id":"a","name":"f","arguments":"{}","signature":"S1"}`),
		}, calls: []llm.ToolCall{call("a", "f", "{}")}, has: []string{`"encrypted_content":"E1"`, `"signature":"S1"`}},
		"items at one index": {api: llm.APIResponses, bodies: []string{
			`data: {"type":"response.output_item.added","item":{"type":"function_call","id":"x","call_id":"a","name":"f",` +
				`"arguments":""}}` + "\n\n" +
				`data: {"type":"response.output_item.added","item":{"type":"function_call","id":"y","call_id":"b","name":"g",` +
				`"arguments":""}}` + "\n\n" +
				`data: {"type":"response.function_call_arguments.delta","item_id":"x","delta":"{\"q\":1}"}` + "\n\n" +
				`data: {"type":"response.function_call_arguments.delta","item_id":"y","delta":"{\"q\":2}"}` + "\n\n" +
				completed(`{"type":"function_call","id":"x","call_id":"a","name":"f","arguments":"{\"q\":1}"},`+
					`{"type":"function_call","id":"y","call_id":"b","name":"g","arguments":"{\"q\":2}"}`),
		}, calls: []llm.ToolCall{call("a", "f", `{"q":1}`), call("b", "g", `{"q":2}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			for i, body := range c.bodies {
				for _, stream := range []bool{false, true} {
					r, all, next := exchange(t, &llm.Request{API: c.api, ThinkTags: c.think}, stream, body)
					if r.Text != c.text || r.Reasoning != c.reasoning || !reflect.DeepEqual(r.ToolCalls, c.calls) {
						t.Errorf("body %d, streamed %t: %q, reasoning %q, calls %+v", i, stream, r.Text, r.Reasoning, r.ToolCalls)
					}
					if stream {
						sameChunks(t, r, all)
					}
					for _, text := range c.has {
						if !strings.Contains(next, text) {
							t.Errorf("body %d, streamed %t: no %s in %s", i, stream, text, next)
						}
					}
					for _, text := range c.not {
						if strings.Contains(next, text) {
							t.Errorf("body %d, streamed %t: %s in %s", i, stream, text, next)
						}
					}
				}
			}
		})
	}
}

// sameChunks checks that the chunks add up to the response.
func sameChunks(t *testing.T, r *llm.Response, all []llm.Chunk) {
	t.Helper()
	var text, reasoning string
	var calls []llm.ToolCall
	for _, c := range all {
		text, reasoning = text+c.Text, reasoning+c.Reasoning
		switch d := c.ToolCall; {
		case d == nil:
		case d.Index == len(calls):
			calls = append(calls, llm.ToolCall{ID: d.ID, Name: d.Name, Arguments: d.Arguments})
		default:
			calls[d.Index].Arguments += d.Arguments
		}
	}
	if text != r.Text || reasoning != r.Reasoning || !reflect.DeepEqual(calls, r.ToolCalls) {
		t.Errorf("the chunks are %q, reasoning %q, calls %+v: expected %+v", text, reasoning, calls, r)
	}
}

// TestCallsApart reads calls without ids, with equal ids and with equal or missing indexes.
func TestCallsApart(t *testing.T) {
	for name, deltas := range map[string][]string{
		"no ids": {`{"index":0,"function":{"name":"f","arguments":"{\"q\":1}"}},{"index":1,` +
			`"function":{"name":"g","arguments":"{\"q\":2}"}}`},
		"no ids and no index": {`{"function":{"name":"f","arguments":"{\"q\":1}"}},{"function":{"name":"g",` +
			`"arguments":"{\"q\":2}"}}`},
		"no index, in two events": {`{"function":{"name":"f","arguments":"{\"q\":1}"}}`, `{"function":{"name":"g",` +
			`"arguments":"{\"q\":2}"}}`},
		"one index, no ids": {`{"index":0,"function":{"name":"f","arguments":"{\"q\":1}"}}`, `{"index":0,` +
			`"function":{"name":"g","arguments":"{\"q\":2}"}}`},
		"one id": {`{"index":0,"id":"","function":{"name":"f","arguments":"{\"q\":1}"}}`, `{"index":1,` +
			`"id":"","function":{"name":"g","arguments":"{\"q\":2}"}}`},
		"arguments in pieces": {`{"function":{"name":"f","arguments":"{\"q\""}}`, `{"function":{"arguments":":1}` +
			`"}}`, `{"function":{"name":"g","arguments":"{\"q\":2"}}`, `{"function":{"arguments":"}"}}`},
		"the name in each delta": {`{"index":0,"function":{"name":"f","arguments":"{\"q\""}}`, `{"index":0,` +
			`"function":{"name":"f","arguments":":1}"}}`, `{"index":1,"function":{"name":"g","arguments":"{\"q\":2}"}}`},
		"an index that is a string": {`{"index":"0","function":{"name":"f","arguments":"{\"q\":1}"}}`, `{"index":"1",` +
			`"function":{"name":"g","arguments":"{\"q\":2}"}}`},
		"an empty call at the end": {`{"index":0,"function":{"name":"f","arguments":"{\"q\":1}"}}`, `{"index":1,` +
			`"function":{"name":"g","arguments":"{\"q\":2}"}}`, `{"index":2}`},
	} {
		stream, joined := "", strings.Join(deltas, ",")
		for _, d := range deltas {
			stream += delta(`{"tool_calls":[` + d + `]}`)
		}
		want := []llm.ToolCall{{Name: "f", Arguments: `{"q":1}`}, {Name: "g", Arguments: `{"q":2}`}}
		bodies := []string{stream + last("tool_calls")}
		if len(deltas) <= 2 {
			bodies = append(bodies, whole(`{"tool_calls":[`+joined+`]}`, "tool_calls"))
		}
		for _, body := range bodies {
			r, all, _ := exchange(t, &llm.Request{}, true, body)
			if !reflect.DeepEqual(r.ToolCalls, want) {
				t.Errorf("%s: %+v", name, r.ToolCalls)
			}
			sameChunks(t, r, all)
		}
	}
	for name, c := range map[string]struct{ stream, ids string }{
		"equal ids and names": {delta(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]}`) +
			delta(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]}`), "x x"},
		"interleaved at one index": {delta(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}]}`) +
			delta(`{"tool_calls":[{"index":0,"id":"y","function":{"name":"f","arguments":"{"}}]}`) +
			delta(`{"tool_calls":[{"index":0,"id":"x","function":{"arguments":"}"}}]}`) +
			delta(`{"tool_calls":[{"index":0,"id":"y","function":{"arguments":"}"}}]}`), "x y"},
		"another id in each delta": {delta(`{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}]}`) +
			delta(`{"tool_calls":[{"index":0,"id":"y","function":{"arguments":"}"}}]}`), "x"},
	} {
		r, _, _ := exchange(t, &llm.Request{}, true, c.stream+last("tool_calls"))
		var ids []string
		for _, call := range r.ToolCalls {
			ids = append(ids, call.ID)
			if call.Arguments != "{}" {
				t.Errorf("%s: arguments %q", name, call.Arguments)
			}
		}
		if strings.Join(ids, " ") != c.ids {
			t.Errorf("%s: ids %v", name, ids)
		}
	}
}

// The name of the limit of tokens follows the family of the model behind every server.
func TestMaxTokensFollowsFamily(t *testing.T) {
	for model, name := range map[string]string{
		"gpt-5": "max_completion_tokens", "gpt-5.1-mini": "max_completion_tokens", "openai/gpt-5": "max_completion_tokens",
		"azure/o3": "max_completion_tokens", "o1-preview": "max_completion_tokens", "o4-mini": "max_completion_tokens",
		"openrouter/openai/o3-mini": "max_completion_tokens", "GPT5-deployment": "max_completion_tokens",
		"ft:o4-mini:acme::1": "max_completion_tokens",
		"gpt-4o":             "max_tokens", "gpt-35-turbo": "max_tokens", "llama3": "max_tokens", "olmo-2": "max_tokens",
		"gpt-oss:20b": "max_tokens", "openai/gpt-4.1": "max_tokens", "mistral/o-large": "max_tokens",
	} {
		_, body, _ := vendor.Sent(t, llm.APIChat, &llm.Request{Model: model, MaxTokens: 5})
		var o object
		if err := json.Unmarshal([]byte(body), &o); err != nil {
			t.Fatal(err)
		}
		if o[name] == nil || o["max_tokens"] != nil && o["max_completion_tokens"] != nil {
			t.Errorf("%s: was sent %s", model, body)
		}
		_, body, _ = vendor.Sent(t, llm.APIChat, &llm.Request{Model: model, MaxTokens: 5, MaxTokensParam: "max_tokens"})
		if !strings.Contains(body, `"max_tokens":5`) || strings.Contains(body, "max_completion_tokens") {
			t.Errorf("%s: the configured name is not used in %s", model, body)
		}
	}
}

// The request id is in one of several headers.
func TestRequestIDs(t *testing.T) {
	for _, header := range []string{"X-Request-Id", "Request-Id", "Apim-Request-Id"} {
		p := vendor.Provider(t, wiretest.Raw(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(header, "req_1")
			io.WriteString(w, whole(`{"content":"ok"}`, "stop"))
		}), llm.APIChat, nil)
		r, err := p.Call(t.Context(), &llm.Request{Model: "m"}, nil)
		if err != nil || r.Metadata[llm.MetadataRequestID] != "req_1" || r.Metadata[llm.MetadataResponseID] != "1" {
			t.Errorf("%s: %+v, %v", header, r, err)
		}
	}
}

// A server may ignore whether a stream is asked for, and send another Content-Type.
func TestFormOfAnswer(t *testing.T) {
	for name, c := range map[string]struct{ kind, body string }{
		"JSON":                     {"application/json", whole(`{"content":"ok"}`, "stop")},
		"JSON as a stream":         {"text/event-stream", "\n " + whole(`{"content":"ok"}`, "stop")},
		"JSON without a type":      {"", whole(`{"content":"ok"}`, "stop")},
		"a stream":                 {"text/event-stream", delta(`{"content":"ok"}`) + last("stop")},
		"a stream as JSON":         {"application/json", delta(`{"content":"ok"}`) + last("stop")},
		"a stream without a type":  {"text/plain", "\n" + delta(`{"content":"ok"}`) + last("stop")},
		"a stream with heartbeats": {"text/event-stream", ": PROCESSING\n\n" + delta(`{"content":"ok"}`) + last("stop")},
	} {
		for _, stream := range []bool{false, true} {
			p := vendor.Provider(t, wiretest.Raw(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				io.WriteString(w, c.body)
			}), llm.APIChat, nil)
			var all []llm.Chunk
			var emit func(llm.Chunk) error
			if stream {
				emit = wiretest.Collect(&all)
			}
			r, err := p.Call(t.Context(), &llm.Request{Model: "m"}, emit)
			if err != nil || r.Text != "ok" || stream && wiretest.Text(all) != "ok" {
				t.Errorf("%s, streamed %t: %+v, chunks %+v, error %v", name, stream, r, all, err)
			}
		}
	}
}
