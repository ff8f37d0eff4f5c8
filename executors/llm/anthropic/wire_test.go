package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/anthropic"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
	"github.com/parleyhub/parley/executors/llm/llmtest"
)

const key = "sk-ant-test-0123456789"

type object = wiretest.Object

var event = wiretest.Event

var vendor = wiretest.Vendor{
	Name: "anthropic", Key: key, Model: "claude-x", Streams: map[llm.API]string{"": messagesStream},
	New: func(base, key string, _ llm.API, c *http.Client) (llm.Provider, error) {
		return anthropic.New(&anthropic.Options{BaseURL: base, APIKey: key, HTTPClient: c})
	},
}

func TestMessagesConform(t *testing.T) {
	llmtest.Conformance(t, func(t *testing.T) llmtest.Setup {
		return llmtest.Setup{Model: "claude-sonnet-4-5", NoRefusalText: true,
			Provider: func(t *testing.T, s *llmtest.Script) llm.Provider {
				return vendor.Provider(t, wiretest.Serve(t, &dialect, s), "", nil)
			}}
	})
}

// dialect is the Messages API.
var dialect = wiretest.Dialect{
	Path: "/v1/messages", Check: check, Stream: events,
	Fault: func(f *llmtest.Fault) string {
		return wiretest.JSON(
			object{"type": "error", "error": object{"type": "some_error", "message": f.Message}, "request_id": "req_1"})
	},
	Whole: func(e *llmtest.Exchange) string {
		o := message(e)
		o["content"], o["stop_reason"], o["stop_details"] = content(e), reason(e.Response.Finish), stopDetails(e)
		if u := e.Response.Usage; u != nil {
			o["usage"] = tokens(u)
		}
		return wiretest.JSON(o)
	},
}

func check(r *http.Request, body object, e *llmtest.Exchange) error {
	if r.Header.Get("X-Api-Key") != key || r.Header.Get("Authorization") != "" ||
		r.Header.Get("Anthropic-Version") != "2023-06-01" {
		return fmt.Errorf("the headers are %v", r.Header)
	}
	if n, ok := body["max_tokens"].(float64); !ok || e.Request.MaxTokens > 0 && int(n) != e.Request.MaxTokens {
		return fmt.Errorf("max_tokens is %v", body["max_tokens"])
	}
	if system := wiretest.Objects(body["system"]); e.Request.Instructions != "" &&
		(len(system) != 1 || system[0]["text"] != e.Request.Instructions) {
		return fmt.Errorf("system is %v", system)
	}
	for _, tool := range wiretest.Objects(body["tools"]) {
		if tool["input_schema"].(object)["type"] != "object" {
			return fmt.Errorf("the tool is %v", tool)
		}
	}
	choices := map[llm.ToolChoice]string{llm.ToolsNone: "none", llm.ToolsRequired: "any"}
	if want := choices[e.Request.ToolChoice]; want != "" && body["tool_choice"].(object)["type"] != want {
		return fmt.Errorf("tool_choice is %v", body["tool_choice"])
	}
	if e.Request.Output != nil {
		config, _ := body["output_config"].(object)
		format, _ := config["format"].(object)
		if format["type"] != "json_schema" || format["schema"].(object)["type"] != "object" {
			return fmt.Errorf("output_config is %v", body["output_config"])
		}
	}
	return checkTurns(wiretest.Objects(body["messages"]))
}

// checkTurns checks that no block is empty, and that each call is answered in the next message.
func checkTurns(messages []object) error {
	open := map[any]bool{}
	for _, m := range messages {
		called := len(open) > 0
		for _, b := range wiretest.Objects(m["content"]) {
			switch b["type"] {
			case "text":
				if b["text"] == "" {
					return errors.New("text content blocks must be non-empty")
				}
			case "tool_use":
				if _, ok := b["input"].(object); !ok {
					return fmt.Errorf("the input is %v", b["input"])
				}
				open[b["id"]] = true
			case "tool_result":
				if !open[b["tool_use_id"]] {
					return fmt.Errorf("result without a call: %v", b["tool_use_id"])
				}
				delete(open, b["tool_use_id"])
			case "thinking":
				if b["signature"] == "" {
					return errors.New("a thought is not signed")
				}
			default:
				return fmt.Errorf("unknown block %v", b)
			}
		}
		if called && len(open) > 0 {
			return fmt.Errorf("no results for %v", open)
		}
	}
	return nil
}

func message(e *llmtest.Exchange) object {
	return object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": e.Request.Model + "-20250929", "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "stop_details": nil,
	}
}

func content(e *llmtest.Exchange) []object {
	all := []object{}
	if e.Opaque != "" {
		all = append(all, object{"type": "thinking", "thinking": "Let me think.", "signature": e.Opaque})
	}
	if e.Response.Text != "" {
		all = append(all, object{"type": "text", "text": e.Response.Text})
	}
	for _, c := range e.Response.ToolCalls {
		input := json.RawMessage(c.Arguments)
		if len(input) == 0 {
			input = json.RawMessage("{}")
		}
		all = append(all, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": input})
	}
	return all
}

func reason(f llm.FinishReason) string {
	switch f {
	case llm.FinishToolCalls:
		return "tool_use"
	case llm.FinishLength:
		return "max_tokens"
	case llm.FinishRefusal:
		return "refusal"
	}
	return "end_turn"
}

func stopDetails(e *llmtest.Exchange) any {
	if e.Response.Refusal == "" {
		return nil
	}
	return object{"type": "refusal", "category": nil, "explanation": e.Response.Refusal}
}

func tokens(u *llm.Usage) object {
	return object{
		"input_tokens":            u.PromptTokens - u.CacheReadTokens - u.CacheWriteTokens,
		"cache_read_input_tokens": u.CacheReadTokens, "cache_creation_input_tokens": u.CacheWriteTokens,
		"output_tokens": u.CompletionTokens, "output_tokens_details": object{"thinking_tokens": u.ReasoningTokens},
	}
}

func events(e *llmtest.Exchange) wiretest.Events {
	typed := func(kind string, o object) string {
		o["type"] = kind
		return event(kind, o)
	}
	start := message(e)
	if u := e.Response.Usage; u != nil {
		first := tokens(u)
		first["output_tokens"] = 1
		start["usage"] = first
	}
	block, open := -1, false
	stop := func() string {
		if !open {
			return ""
		}
		open = false
		return typed("content_block_stop", object{"index": block})
	}
	begin := func(b object) string {
		before := stop()
		block, open = block+1, true
		return before + typed("content_block_start", object{"index": block, "content_block": b})
	}
	delta := func(kind string, o object) string {
		o["type"] = kind
		return typed("content_block_delta", object{"index": block, "delta": o})
	}
	all := wiretest.Events{
		Before:  typed("message_start", object{"message": start}) + typed("ping", object{}),
		Garbled: event("content_block_delta", llmtest.Garbage),
	}
	if e.Opaque != "" {
		all.Before += begin(object{"type": "thinking", "thinking": "", "signature": ""}) +
			delta("thinking_delta", object{"thinking": "Let me "}) +
			delta("thinking_delta", object{"thinking": "think."}) + delta("signature_delta", object{"signature": e.Opaque})
	}
	said := false
	for _, c := range e.Chunks {
		var text string
		switch {
		case c.Text != "":
			if !said {
				text, said = begin(object{"type": "text", "text": ""}), true
			}
			text += delta("text_delta", object{"text": c.Text})
		case c.ToolCall == nil: // a refusal has no deltas
		case c.ToolCall.Name != "":
			text = begin(object{"type": "tool_use", "id": c.ToolCall.ID, "name": c.ToolCall.Name, "input": object{}}) +
				delta("input_json_delta", object{"partial_json": ""})
		default:
			text = delta("input_json_delta", object{"partial_json": c.ToolCall.Arguments})
		}
		all.Chunks = append(all.Chunks, text)
	}
	last := object{
		"delta": object{"stop_reason": reason(e.Response.Finish), "stop_sequence": nil, "stop_details": stopDetails(e)}}
	if e.Response.Usage != nil {
		last["usage"] = object{"output_tokens": e.Response.Usage.CompletionTokens}
	}
	all.After = stop() + typed("message_delta", last) + typed("message_stop", object{})
	return all
}
