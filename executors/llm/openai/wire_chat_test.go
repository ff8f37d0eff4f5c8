package openai_test

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
	"github.com/parleyhub/parley/executors/llm/llmtest"
)

// chatDialect is chat completions of a compatible server.
var chatDialect = wiretest.Dialect{Path: "/v1/chat/completions", Fault: fault, Check: checkChat, Whole: chatWhole,
	Stream: chatEvents}

func checkChat(r *http.Request, body object, e *llmtest.Exchange) error {
	if o, _ := body["stream_options"].(object); e.Stream && o["include_usage"] != true {
		return fmt.Errorf("stream_options are %v", body["stream_options"])
	}
	if n, ok := body["max_tokens"].(float64); e.Request.MaxTokens > 0 && (!ok || int(n) != e.Request.MaxTokens) {
		return fmt.Errorf("max_tokens is %v", body["max_tokens"])
	}
	messages := wiretest.Objects(body["messages"])
	if e.Request.Instructions != "" &&
		(messages[0]["role"] != "system" || messages[0]["content"] != e.Request.Instructions) {
		return fmt.Errorf("the first message is %v", messages[0])
	}
	for _, tool := range wiretest.Objects(body["tools"]) {
		if f, _ := tool["function"].(object); tool["type"] != "function" || f["parameters"].(object)["type"] != "object" {
			return fmt.Errorf("the tool is %v", tool)
		}
	}
	if len(e.Request.Tools) > 0 && e.Request.ToolChoice != "" && body["tool_choice"] != string(e.Request.ToolChoice) {
		return fmt.Errorf("tool_choice is %v", body["tool_choice"])
	}
	if e.Request.Output != nil {
		format := body["response_format"].(object)
		inner, _ := format["json_schema"].(object)
		if format["type"] != "json_schema" || inner["strict"] != true || inner["name"] != e.Request.Output.Name ||
			inner["schema"].(object)["type"] != "object" {
			return fmt.Errorf("response_format is %v", format)
		}
	}
	return errors.Join(authorized(r), checkMessages(messages))
}

// checkMessages checks that each call is answered in the next messages.
func checkMessages(messages []object) error {
	open := map[any]bool{}
	for _, m := range messages {
		if m["role"] == "tool" {
			if !open[m["tool_call_id"]] {
				return fmt.Errorf("result without a call: %v", m["tool_call_id"])
			}
			delete(open, m["tool_call_id"])
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("no results for %v", open)
		}
		for _, c := range wiretest.Objects(m["tool_calls"]) {
			open[c["id"]] = true
		}
	}
	return nil
}

func reason(f llm.FinishReason) string {
	switch f {
	case llm.FinishToolCalls:
		return "tool_calls"
	case llm.FinishLength:
		return "length"
	}
	return "stop"
}

func chatTokens(u *llm.Usage) object {
	return object{
		"prompt_tokens": u.PromptTokens, "completion_tokens": u.CompletionTokens, "total_tokens": u.TotalTokens,
		"prompt_tokens_details":     object{"cached_tokens": u.CacheReadTokens, "cache_write_tokens": u.CacheWriteTokens},
		"completion_tokens_details": object{"reasoning_tokens": u.ReasoningTokens},
	}
}

func chatWhole(e *llmtest.Exchange) string {
	said := object{"role": "assistant", "content": nil, "refusal": nil}
	if e.Response.Text != "" {
		said["content"] = e.Response.Text
	}
	if e.Response.Refusal != "" {
		said["refusal"] = e.Response.Refusal
	}
	var calls []object
	for _, c := range e.Response.ToolCalls {
		calls = append(
			calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}})
	}
	if calls != nil {
		said["tool_calls"] = calls
	}
	o := object{
		"id": "chatcmpl_1", "object": "chat.completion", "created": 1700000000, "model": e.Request.Model + "-q4",
		"choices": []any{object{"index": 0, "message": said, "logprobs": nil, "finish_reason": reason(e.Response.Finish)}},
	}
	if e.Response.Usage != nil {
		o["usage"] = chatTokens(e.Response.Usage)
	}
	return wiretest.JSON(o)
}

func chatEvents(e *llmtest.Exchange) wiretest.Events {
	chunk := func(delta object, finish any) string {
		return event("", object{
			"id": "chatcmpl_1", "object": "chat.completion.chunk", "created": 1700000000, "model": e.Request.Model + "-q4",
			"usage":   nil,
			"choices": []any{object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}},
		})
	}
	all := wiretest.Events{Before: chunk(object{"role": "assistant", "content": "", "refusal": nil}, nil),
		Garbled: event("", llmtest.Garbage)}
	for _, c := range e.Chunks {
		delta := object{}
		switch {
		case c.Text != "":
			delta["content"] = c.Text
		case c.Refusal != "":
			delta["refusal"] = c.Refusal
		case c.ToolCall.Name != "":
			delta["tool_calls"] = []any{
				object{"index": c.ToolCall.Index, "id": c.ToolCall.ID, "type": "function",
					"function": object{"name": c.ToolCall.Name, "arguments": ""}}}
		default:
			delta["tool_calls"] = []any{object{"index": c.ToolCall.Index, "function": object{"arguments": c.ToolCall.Arguments}}}
		}
		all.Chunks = append(all.Chunks, chunk(delta, nil))
	}
	all.After = chunk(object{}, reason(e.Response.Finish))
	if e.Response.Usage != nil {
		all.After += event(
			"", object{"id": "chatcmpl_1", "object": "chat.completion.chunk", "created": 1700000000, "model": e.Request.Model +
				"-q4", "choices": []any{}, "usage": chatTokens(e.Response.Usage)})
	}
	all.After += event("", "[DONE]")
	return all
}
