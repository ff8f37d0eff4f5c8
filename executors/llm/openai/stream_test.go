package openai_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
)

// These streams have the form of the vendor and the same content.
const (
	responsesStream = `event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_9","object":"response","status":"in_progress","model":"gpt-4.1","output":[],"usage":null}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"Ça ","obfuscation":"x8"}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"va 🙂"}

event: response.output_text.done
data: {"type":"response.output_text.done","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"text":"Ça va 🙂"}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":5,"output_index":1,"item":{"id":"fc_1","type":"function_call","status":"in_progress","call_id":"call_1","name":"look","arguments":""}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","sequence_number":6,"item_id":"fc_1","output_index":1,"delta":"{\"a\":"}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","sequence_number":7,"item_id":"fc_1","output_index":1,"delta":"1}"}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":8,"output_index":1,"item":{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"look","arguments":"{\"a\":1}"}}

event: response.completed
data: {"type":"response.completed","sequence_number":9,"response":{"id":"resp_9","object":"response","status":"completed","model":"gpt-4.1","output":[{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Ça va 🙂","annotations":[]}]},{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"look","arguments":"{\"a\":1}"}],"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":15}}}

`
	chatStream = `data: {"id":"resp_9","object":"chat.completion.chunk","created":1,"model":"gpt-4.1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"error":null,"usage":null}

data: {"id":"resp_9","object":"chat.completion.chunk","created":1,"model":"gpt-4.1","choices":[{"index":0,"delta":{"content":"Ça "},"finish_reason":null}]}

data: {"id":"resp_9","object":"chat.completion.chunk","created":1,"model":"gpt-4.1","choices":[{"index":0,"delta":{"content":"va 🙂"},"finish_reason":null}]}

data: {"id":"resp_9","object":"chat.completion.chunk","created":1,"model":"gpt-4.1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"look","arguments":""}}]},"finish_reason":null}]}

data: {"id":"resp_9","object":"chat.completion.chunk","created":1,"model":"gpt-4.1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]},"finish_reason":null}]}

data: {"id":"resp_9","object":"chat.completion.chunk","created":1,"model":"gpt-4.1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]},"finish_reason":null}]}

data: {"id":"resp_9","object":"chat.completion.chunk","created":1,"model":"gpt-4.1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"id":"resp_9","object":"chat.completion.chunk","created":1,"model":"gpt-4.1","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4}}}

data: [DONE]

`
)

func TestStreams(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	vendor.TestStreams(t, llm.Response{
		Text: "Ça va 🙂", ToolCalls: []llm.ToolCall{{ID: "call_1", Name: "look", Arguments: `{"a":1}`}},
		Finish: llm.FinishToolCalls, Model: "gpt-4.1",
		Usage:    &llm.Usage{PromptTokens: 10, CompletionTokens: 5, TotalTokens: 15, CacheReadTokens: 4},
		Metadata: map[string]string{"response_id": "resp_9"},
	}, "")
}

func TestStreamFaults(t *testing.T) {
	responses := func(data string) string { return "event: x\ndata: " + data + "\n\n" }
	vendor.TestStreamFaults(t, map[string]wiretest.StreamFault{
		"flat": {llm.APIResponses,
			responses(`{"type":"error","code":"rate_limit_exceeded","message":"slow down","param":null,"sequence_number":3}`),
			llm.CategoryRateLimit, true, "rate_limit_exceeded"},
		"within": {llm.APIResponses,
			responses(`{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded",` +
				`"message":"too long"}}`), llm.CategoryContext, false, "context_length_exceeded"},
		"failed": {llm.APIResponses,
			responses(`{"type":"response.failed","response":{"id":"r","object":"response","status":"failed","output":[],` +
				`"error":{"code":"server_error","message":"oops"}}}`), llm.CategoryServer, true, "server_error"},
		"failed, not labeled": {llm.APIResponses,
			responses(`{"type":"response.failed","response":{"status":"failed",` +
				`"error":{"code":"insufficient_quota","message":"pay"}}}`), llm.CategoryQuota, false, "insufficient_quota"},
		"failed by prompt": {llm.APIResponses,
			responses(`{"type":"response.failed","response":{"id":"r","object":"response","status":"failed","output":[],` +
				`"error":{"code":"invalid_prompt","message":"no"}}}`), llm.CategoryInvalid, false, "invalid_prompt"},
		"no credit": {llm.APIResponses, responses(`{"type":"error","code":"insufficient_quota","message":"pay"}`),
			llm.CategoryQuota, false, "insufficient_quota"},
		"new": {llm.APIResponses, responses(`{"type":"error","code":"sunspots","message":"hm"}`),
			llm.CategoryServer, true, "sunspots"},
		"no JSON":         {llm.APIResponses, responses(`{"type":"response.output_text.delta","delta":"`), llm.CategoryMalformed, false, ""},
		"HTML":            {llm.APIResponses, responses(`<html>`), llm.CategoryMalformed, false, ""},
		"no response":     {llm.APIResponses, responses(`{"type":"response.completed","response":{}}`), llm.CategoryMalformed, false, ""},
		"not ended":       {llm.APIResponses, responses(`{"type":"response.completed","response":{"object":"response","status":"queued","output":[]}}`), llm.CategoryMalformed, false, ""},
		"chat":            {llm.APIChat, `data: {"error":{"message":"The server had an error","type":"server_error","code":null}}` + "\n\n", llm.CategoryServer, true, "server_error"},
		"chat, by number": {llm.APIChat, `data: {"error":{"message":"no","type":"invalid_request_error","code":400}}` + "\n\n", llm.CategoryInvalid, false, "invalid_request_error"},
		"chat, a list": {llm.APIChat, `data: [{"error":{"code":429,"message":"slow",` +
			`"status":"RESOURCE_EXHAUSTED"}}]` + "\n\n",
			llm.CategoryRateLimit, true, "RESOURCE_EXHAUSTED"},
		"chat, beside a choice": {llm.APIChat, `data: {"id":"1","error":{"code":402,"message":"pay"},"choices":[{"index":0,` +
			`"delta":{"content":""},"finish_reason":"error"}]}` + "\n\n", llm.CategoryQuota, false, "402"},
		"chat, vLLM": {llm.APIChat, `data: {"object":"error","message":"no","type":"BadRequestError","code":400}` + "\n\n",
			llm.CategoryInvalid, false, "BadRequestError"},
		"chat's form": {llm.APIResponses, responses(`{"error":{"message":"none","code":"model_not_found"}}`),
			llm.CategoryNotFound, false, "model_not_found"},
		"chat, words":        {llm.APIChat, `data: {"error":"model runner has unexpectedly stopped"}` + "\n\n", llm.CategoryServer, true, ""},
		"chat, no JSON":      {llm.APIChat, "data: {\"choices\":\n\n", llm.CategoryMalformed, false, ""},
		"chat, nothing":      {llm.APIChat, "data: [DONE]\n\n", llm.CategoryMalformed, false, ""},
		"chat, without name": {llm.APIChat, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c"}]},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n", llm.CategoryMalformed, false, ""},
	})
}

// TestOtherServers has the variants of compatible servers.
func TestOtherServers(t *testing.T) {
	chat := func(delta, rest string) string {
		return `data: {"id":"1","model":"m","choices":[{"index":0,"delta":` + delta + rest + `}]}` + "\n\n"
	}
	for name, c := range map[string]struct {
		api    llm.API
		stream string
		text   string
		calls  []llm.ToolCall
		finish llm.FinishReason
	}{
		"all calls at one place": {llm.APIChat, chat(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`, "") +
			chat(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{\"x\":1}"}}]}`, `,"finish_reason":"stop"`) + "data: [DONE]\n\n",
			"", []llm.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "b", Name: "g", Arguments: `{"x":1}`}}, llm.FinishToolCalls},
		"no word at the end": {llm.APIChat, chat(`{"content":"hi"}`, "") + chat(`{}`, `,"finish_reason":"stop"`), "hi", nil, llm.FinishStop},
		"a name that is late": {llm.APIChat, chat(`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{"}}]}`, "") + chat(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"}"}}]}`, "") + "data: [DONE]\n\n",
			"", []llm.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}, llm.FinishToolCalls},
		"places that begin at 1": {llm.APIChat, chat(`{"tool_calls":[{"index":1,"id":"a","function":{"name":"f","arguments":"{}"}}]}`, `,"finish_reason":"tool_calls"`) + "data: [DONE]\n\n",
			"", []llm.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}, llm.FinishToolCalls},
		"a filter":       {llm.APIChat, chat(`{"content":"We"}`, `,"finish_reason":"content_filter"`) + "data: [DONE]\n\n", "We", nil, llm.FinishRefusal},
		"another choice": {llm.APIChat, strings.ReplaceAll(chat(`{"content":"no"}`, ""), `"index":0`, `"index":1`) + chat(`{"content":"yes"}`, `,"finish_reason":"stop"`) + "data: [DONE]\n\n", "yes", nil, llm.FinishStop},
		"no output in the end": {llm.APIResponses, `data: {"type":"response.output_text.delta","output_index":0,"delta":"hi"}` + "\n\n" +
			`data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}}` + "\n\n" +
			`data: {"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}}` + "\n\n" +
			`data: {"type":"response.completed","response":{"object":"response","status":"completed","model":"m","output":[]}}` + "\n\n",
			"hi", []llm.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}, llm.FinishToolCalls},
		"an event of nothing": {llm.APIChat, "data:\n\ndata: \n\n" + chat(`{"content":"hi"}`, `,"finish_reason":"stop"`) + "data: [DONE]\n\n", "hi", nil, llm.FinishStop},
		"no member output in the end": {llm.APIResponses, "data:\n\n" +
			`data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}}` + "\n\n" +
			`data: {"type":"response.completed","response":{"object":"response","status":"completed","model":"m"}}` + "\n\n", "hi", nil, llm.FinishStop},
		"everything in the end": {llm.APIResponses, `data: {"type":"response.completed","response":{"object":"response","status":"completed","model":"m","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]},{"type":"message","content":[{"type":"output_text","text":"there"}]},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}]}}` + "\n\n",
			"hi\n\nthere", []llm.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}, llm.FinishToolCalls},
	} {
		t.Run(name, func(t *testing.T) {
			r, all, err := vendor.Stream(t, c.api, c.stream)
			if err != nil {
				t.Fatal(err)
			}
			if r.Text != c.text || r.Finish != c.finish || !reflect.DeepEqual(r.ToolCalls, c.calls) || wiretest.Text(all) != c.text {
				t.Errorf("got %+v, chunks %+v", r, all)
			}
			if c.finish == llm.FinishRefusal && r.Refusal == "" {
				t.Error("a refusal has words")
			}
		})
	}
}
