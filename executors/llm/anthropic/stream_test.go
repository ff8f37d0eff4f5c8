package anthropic_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
)

// messagesStream is a stream in the form of the vendor.
const messagesStream = `event: message_start
data: {"type":"message_start","message":{"id":"msg_9","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":6,"cache_read_input_tokens":3,"cache_creation_input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm, <b>"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":" & so on"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln+/=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Ça "}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"va 🙂"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"look","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"1}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":5,"output_tokens_details":{"thinking_tokens":2}}}

event: message_stop
data: {"type":"message_stop"}

`

func TestStreams(t *testing.T) {
	vendor.TestStreams(t, llm.Response{
		Text: "Ça va 🙂", ToolCalls: []llm.ToolCall{{ID: "toolu_1", Name: "look", Arguments: `{"a":1}`}},
		Finish: llm.FinishToolCalls, Model: "claude-x",
		Usage: &llm.Usage{PromptTokens: 10, CompletionTokens: 5, TotalTokens: 15, CacheReadTokens: 3, CacheWriteTokens: 1,
			ReasoningTokens: 2},
		Metadata: map[string]string{"response_id": "msg_9"}, Reasoning: "Hm, <b> & so on",
	}, `[{"type":"thinking","thinking":"Hm, <b> & so on","signature":"c2ln+/=="},{"type":"text","text":"Ça va 🙂"},`+
		`{"type":"tool_use","id":"toolu_1","name":"look","input":{"a":1}}]`)
}

func TestStreamFaults(t *testing.T) {
	start := messagesStream[:strings.Index(messagesStream, "event: content_block_start")]
	told := func(kind string) string {
		return start +
			event("error",
				object{"type": "error", "error": object{"type": kind, "message": "no, " + key}, "request_id": "req_5"})
	}
	vendor.TestStreamFaults(t, map[string]wiretest.StreamFault{
		"overloaded":     {"", told("overloaded_error"), llm.CategoryServer, true, "overloaded_error"},
		"api_error":      {"", told("api_error"), llm.CategoryServer, true, "api_error"},
		"rate limit":     {"", told("rate_limit_error"), llm.CategoryRateLimit, true, "rate_limit_error"},
		"timeout":        {"", told("timeout_error"), llm.CategoryTimeout, true, "timeout_error"},
		"invalid":        {"", told("invalid_request_error"), llm.CategoryInvalid, false, "invalid_request_error"},
		"authentication": {"", told("authentication_error"), llm.CategoryAuthentication, false, "authentication_error"},
		"permission":     {"", told("permission_error"), llm.CategoryAuthentication, false, "permission_error"},
		"not found":      {"", told("not_found_error"), llm.CategoryNotFound, false, "not_found_error"},
		"billing":        {"", told("billing_error"), llm.CategoryQuota, false, "billing_error"},
		"without a type": {"", start + event("error", object{"error": object{"type": "overloaded_error", "message": "no"}}),
			llm.CategoryServer, true, "overloaded_error"},
		"new": {"", told("sunspot_error"), llm.CategoryServer, true, "sunspot_error"},
		"no JSON": {"", start + event("content_block_delta", `{"type":"content_block_delta","delta":`),
			llm.CategoryMalformed, false, ""},
		"no beginning":   {"", event("message_stop", object{"type": "message_stop"}), llm.CategoryMalformed, false, ""},
		"two beginnings": {"", start + start, llm.CategoryMalformed, false, ""},
		"a text of a call": {
			"", start + event("content_block_start",
				object{"type": "content_block_start", "index": 0,
					"content_block": object{"type": "tool_use", "id": "a", "name": "f", "input": object{}}}) +
				event("content_block_delta",
					object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": "x"}}),
			llm.CategoryMalformed, false, ""},
		"a begun message": {
			"", strings.Replace(start, `"content":[]`, `"content":[{"type":"tool_use","id":"a","name":"f","input":{}}]`, 1),
			llm.CategoryMalformed, false, ""},
		"a block of nothing": {
			"", start + event("content_block_delta",
				object{"type": "content_block_delta", "index": 4, "delta": object{"type": "text_delta", "text": "x"}}),
			llm.CategoryMalformed, false, ""},
	})
}

// Blocks without an end are completed at the end of the message.
func TestBlocksWithoutEnd(t *testing.T) {
	events := strings.SplitAfter(messagesStream, "\n\n")
	events = slices.DeleteFunc(events, func(e string) bool { return strings.HasPrefix(e, "event: content_block_stop") })
	r, all, err := vendor.Stream(t, "", strings.Join(events, ""))
	if err != nil || r.Text != "Ça va 🙂" || wiretest.Text(all) != r.Text || len(r.ToolCalls) != 1 ||
		r.ToolCalls[0].Arguments != `{"a":1}` || !strings.Contains(string(r.Opaque.Data), "c2ln") {
		t.Errorf("%v: %+v", err, r)
	}
}

// Incomplete arguments are returned as the model wrote them, and are sent back as JSON.
func TestIncompleteArguments(t *testing.T) {
	cut := strings.Replace(strings.Replace(messagesStream, `"1}"`, `"\"x"`, 1), "tool_use\",\"stop_sequence",
		"max_tokens\",\"stop_sequence", 1)
	r, _, err := vendor.Stream(t, "", cut)
	if err != nil {
		t.Fatal(err)
	}
	if r.Finish != llm.FinishLength || len(r.ToolCalls) != 1 || r.ToolCalls[0].Arguments != `{"a":"x` {
		t.Errorf("got %+v", r)
	}
	if !json.Valid(r.Opaque.Data) {
		t.Errorf("opaque %s", r.Opaque.Data)
	}
}
