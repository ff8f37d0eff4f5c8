package llmtest

import (
	"encoding/json"

	"github.com/parleyhub/parley/executors/llm"
)

// Messages is the Messages API of Anthropic.
var Messages = &Wire{Name: "messages", Path: "/v1/messages", whole: messagesWhole, stream: messagesEvents,
	check: (*checker).messages,
	fault: func(f *Fault) Object {
		return Object{"type": "error", "error": Object{"type": "some_error", "message": f.Message}, "request_id": "req_1"}
	}}

func messagesStart(e *Exchange) Object {
	return Object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": e.Request.Model + "-20250929", "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "stop_details": nil,
	}
}

func messagesWhole(e *Exchange) Object {
	o := messagesStart(e)
	o["content"], o["stop_reason"], o["stop_details"] = list(messagesBlocks(e)), stopReason(e.Response.Finish),
		stopDetails(e)
	if u := e.Response.Usage; u != nil {
		o["usage"] = messagesUsage(u)
	}
	return o
}

// thoughtOf returns the text of the signed thought of an exchange. Thoughts are always signed.
func thoughtOf(e *Exchange) string {
	if e.Response.Reasoning == "" && e.Opaque != "" {
		return "Let me think."
	}
	return e.Response.Reasoning
}

func messagesBlocks(e *Exchange) (all []Object) {
	if thought := thoughtOf(e); thought != "" {
		all = append(all, Object{"type": "thinking", "thinking": thought, "signature": "sig-" + e.Opaque})
	}
	if e.Response.Text != "" {
		all = append(all, Object{"type": "text", "text": e.Response.Text})
	}
	for _, c := range e.Response.ToolCalls {
		input := json.RawMessage(c.Arguments)
		if !json.Valid(input) {
			input = json.RawMessage("{}")
		}
		all = append(all, Object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": input})
	}
	return all
}

func stopReason(f llm.FinishReason) string {
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

func stopDetails(e *Exchange) any {
	if e.Response.Refusal == "" {
		return nil
	}
	return Object{"type": "refusal", "category": nil, "explanation": e.Response.Refusal}
}

func messagesUsage(u *llm.Usage) Object {
	return Object{
		"input_tokens":            u.PromptTokens - u.CacheReadTokens - u.CacheWriteTokens,
		"cache_read_input_tokens": u.CacheReadTokens, "cache_creation_input_tokens": u.CacheWriteTokens,
		"output_tokens": u.CompletionTokens, "output_tokens_details": Object{"thinking_tokens": u.ReasoningTokens},
	}
}

func messagesEvents(e *Exchange) events {
	typed := func(kind string, o Object) Event {
		o["type"] = kind
		return Event{Name: kind, Data: o}
	}
	start := messagesStart(e)
	if u := e.Response.Usage; u != nil {
		first := messagesUsage(u)
		first["output_tokens"] = 1
		start["usage"] = first
	}
	block, kind := -1, ""
	stop := func() []Event {
		if kind == "" {
			return nil
		}
		kind = ""
		return []Event{typed("content_block_stop", Object{"index": block})}
	}
	begin := func(b Object) []Event {
		before := stop()
		block, kind = block+1, b["type"].(string)
		return append(before, typed("content_block_start", Object{"index": block, "content_block": b}))
	}
	delta := func(kind string, o Object) Event {
		o["type"] = kind
		return typed("content_block_delta", Object{"index": block, "delta": o})
	}
	all := events{
		before:  []Event{typed("message_start", Object{"message": start}), typed("ping", Object{})},
		garbled: Event{Name: "content_block_delta", Data: Garbage},
	}
	think := func() []Event { return begin(Object{"type": "thinking", "thinking": "", "signature": ""}) }
	sign := func() Event { return delta("signature_delta", Object{"signature": "sig-" + e.Opaque}) }
	if e.Opaque != "" && e.Response.Reasoning == "" {
		all.before = append(append(all.before, think()...), delta("thinking_delta", Object{"thinking": "Let me "}),
			delta("thinking_delta", Object{"thinking": "think."}), sign())
	}
	for _, c := range e.Chunks {
		var of []Event
		if kind == "thinking" && c.Reasoning == "" && e.Response.Reasoning != "" {
			of = append(of, sign())
		}
		switch {
		case c.Reasoning != "":
			if kind != "thinking" {
				of = append(of, think()...)
			}
			of = append(of, delta("thinking_delta", Object{"thinking": c.Reasoning}))
		case c.Text != "":
			if kind != "text" {
				of = append(of, begin(Object{"type": "text", "text": ""})...)
			}
			of = append(of, delta("text_delta", Object{"text": c.Text}))
		case c.ToolCall == nil: // a refusal has no deltas
		case c.ToolCall.Name != "":
			of = append(append(of,
				begin(Object{"type": "tool_use", "id": c.ToolCall.ID, "name": c.ToolCall.Name, "input": Object{}})...),
				delta("input_json_delta", Object{"partial_json": ""}))
		default:
			of = append(of, delta("input_json_delta", Object{"partial_json": c.ToolCall.Arguments}))
		}
		all.chunks = append(all.chunks, of)
	}
	last := Object{
		"delta": Object{"stop_reason": stopReason(e.Response.Finish), "stop_sequence": nil, "stop_details": stopDetails(e)}}
	if e.Response.Usage != nil {
		last["usage"] = Object{"output_tokens": e.Response.Usage.CompletionTokens}
	}
	all.after = append(stop(), typed("message_delta", last), typed("message_stop", Object{}))
	return all
}
