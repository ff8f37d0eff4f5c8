package llmtest

import "github.com/parleyhub/parley/executors/llm"

// Chat is chat completions, the API of OpenAI and of compatible servers.
var Chat = &Wire{Name: "chat completions", Path: "/v1/chat/completions", whole: chatWhole, stream: chatEvents,
	fault: openAIFault, check: (*checker).chat}

func openAIFault(f *Fault) Object {
	return Object{"error": Object{"message": f.Message, "type": "some_error", "param": nil, "code": "some_code"}}
}

func chatReason(f llm.FinishReason) string {
	switch f {
	case llm.FinishToolCalls:
		return "tool_calls"
	case llm.FinishLength:
		return "length"
	}
	return "stop"
}

func chatUsage(u *llm.Usage) Object {
	return Object{
		"prompt_tokens": u.PromptTokens, "completion_tokens": u.CompletionTokens, "total_tokens": u.TotalTokens,
		"prompt_tokens_details":     Object{"cached_tokens": u.CacheReadTokens, "cache_write_tokens": u.CacheWriteTokens},
		"completion_tokens_details": Object{"reasoning_tokens": u.ReasoningTokens},
	}
}

func chatWhole(e *Exchange) Object {
	said := Object{"role": "assistant", "content": nil, "refusal": nil}
	if e.Response.Text != "" {
		said["content"] = e.Response.Text
	}
	if e.Response.Refusal != "" {
		said["refusal"] = e.Response.Refusal
	}
	if e.Response.Reasoning != "" {
		said["reasoning_content"] = e.Response.Reasoning
	}
	var calls []Object
	for _, c := range e.Response.ToolCalls {
		calls = append(
			calls, Object{"id": c.ID, "type": "function", "function": Object{"name": c.Name, "arguments": c.Arguments}})
	}
	if calls != nil {
		said["tool_calls"] = list(calls)
	}
	o := Object{
		"id": "chatcmpl_1", "object": "chat.completion", "created": 1700000000, "model": e.Request.Model + "-q4",
		"choices": []any{
			Object{"index": 0, "message": said, "logprobs": nil, "finish_reason": chatReason(e.Response.Finish)}},
	}
	if e.Response.Usage != nil {
		o["usage"] = chatUsage(e.Response.Usage)
	}
	return o
}

func chatEvents(e *Exchange) events {
	event := func(o Object) Event {
		o["id"], o["object"], o["created"], o["model"] = "chatcmpl_1", "chat.completion.chunk", 1700000000,
			e.Request.Model+"-q4"
		return Event{Data: o}
	}
	chunk := func(delta Object, finish any) Event {
		return event(Object{"usage": nil,
			"choices": []any{Object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}}})
	}
	all := events{before: []Event{chunk(Object{"role": "assistant", "content": "", "refusal": nil}, nil)},
		garbled: Event{Data: Garbage}}
	for _, c := range e.Chunks {
		delta := Object{}
		switch {
		case c.Text != "":
			delta["content"] = c.Text
		case c.Refusal != "":
			delta["refusal"] = c.Refusal
		case c.Reasoning != "":
			delta["reasoning_content"] = c.Reasoning
		case c.ToolCall.Name != "":
			delta["tool_calls"] = []any{Object{"index": c.ToolCall.Index, "id": c.ToolCall.ID, "type": "function",
				"function": Object{"name": c.ToolCall.Name, "arguments": ""}}}
		default:
			delta["tool_calls"] = []any{Object{"index": c.ToolCall.Index, "function": Object{"arguments": c.ToolCall.Arguments}}}
		}
		all.chunks = append(all.chunks, []Event{chunk(delta, nil)})
	}
	all.after = []Event{chunk(Object{}, chatReason(e.Response.Finish))}
	if e.Response.Usage != nil {
		all.after = append(all.after, event(Object{"choices": []any{}, "usage": chatUsage(e.Response.Usage)}))
	}
	all.after = append(all.after, Event{Data: "[DONE]"})
	return all
}
