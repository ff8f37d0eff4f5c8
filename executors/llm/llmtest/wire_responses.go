package llmtest

import (
	"maps"

	"github.com/parleyhub/parley/executors/llm"
)

// Responses is the Responses API of OpenAI.
var Responses = &Wire{Name: "responses", Path: "/v1/responses", whole: responsesWhole, stream: responsesEvents,
	fault: openAIFault, check: (*checker).responses}

// responseItems returns the answer of the model as items.
func responseItems(e *Exchange) []Object {
	var all []Object
	if e.Opaque != "" || e.Response.Reasoning != "" {
		thought := Object{"id": "rs_1", "type": "reasoning", "summary": []any{}}
		if e.Opaque != "" {
			thought["encrypted_content"] = e.Opaque
		}
		if e.Response.Reasoning != "" {
			thought["summary"] = []any{Object{"type": "summary_text", "text": e.Response.Reasoning}}
		}
		all = append(all, thought)
	}
	var content []Object
	if e.Response.Text != "" {
		content = append(content,
			Object{"type": "output_text", "text": e.Response.Text, "annotations": []any{}, "logprobs": []any{}})
	}
	if e.Response.Refusal != "" {
		content = append(content, Object{"type": "refusal", "refusal": e.Response.Refusal})
	}
	if len(content) > 0 {
		all = append(all, Object{"id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
			"content": list(content)})
	}
	for _, c := range e.Response.ToolCalls {
		all = append(all, Object{"id": "fc_" + c.ID, "type": "function_call", "status": "completed", "call_id": c.ID,
			"name": c.Name, "arguments": c.Arguments})
	}
	return all
}

func responsesStart(e *Exchange) Object {
	return Object{
		"id": "resp_1", "object": "response", "created_at": 1700000000, "status": "in_progress", "error": nil,
		"incomplete_details": nil, "model": e.Request.Model + "-2025", "output": []any{}, "parallel_tool_calls": true,
		"store": false, "metadata": Object{}, "usage": nil,
	}
}

func responsesWhole(e *Exchange) Object {
	o := responsesStart(e)
	o["status"], o["output"] = "completed", list(responseItems(e))
	if u := e.Response.Usage; u != nil {
		o["usage"] = Object{
			"input_tokens":         u.PromptTokens,
			"input_tokens_details": Object{"cached_tokens": u.CacheReadTokens, "cache_write_tokens": u.CacheWriteTokens},
			"output_tokens":        u.CompletionTokens, "output_tokens_details": Object{"reasoning_tokens": u.ReasoningTokens},
			"total_tokens": u.TotalTokens,
		}
	}
	if e.Response.Finish == llm.FinishLength {
		o["status"], o["incomplete_details"] = "incomplete", Object{"reason": "max_output_tokens"}
	}
	return o
}

// responsesEvents returns the stream of a response. Each item ends where the next one starts.
func responsesEvents(e *Exchange) events {
	seq, place := 0, -1
	typed := func(kind string, o Object) Event {
		o["type"], o["sequence_number"] = kind, seq
		seq++
		return Event{Name: kind, Data: o}
	}
	items := responseItems(e)
	all := events{garbled: Event{Name: "response.output_text.delta", Data: Garbage}, before: []Event{
		typed("response.created", Object{"response": responsesStart(e)}),
		typed("response.in_progress", Object{"response": responsesStart(e)}),
	}}
	end := func() []Event {
		if place < 0 {
			return nil
		}
		return []Event{typed("response.output_item.done", Object{"output_index": place, "item": items[place]})}
	}
	begin := func() []Event {
		done := end()
		place++
		item := maps.Clone(items[place])
		switch item["type"] {
		case "message":
			item["status"], item["content"] = "in_progress", []any{}
		case "function_call":
			item["status"], item["arguments"] = "in_progress", ""
		}
		return append(done, typed("response.output_item.added", Object{"output_index": place, "item": item}))
	}
	if e.Opaque != "" || e.Response.Reasoning != "" {
		all.before = append(all.before, begin()...)
	}
	said := false
	for _, c := range e.Chunks {
		var of []Event
		if c.ToolCall == nil && c.Reasoning == "" && !said {
			said = true
			of = append(begin(), typed("response.content_part.added", Object{"output_index": place, "item_id": "msg_1",
				"content_index": 0, "part": Object{"type": "output_text", "text": ""}}))
		}
		delta := func(kind string, o Object) {
			o["output_index"], o["item_id"] = place, items[place]["id"]
			of = append(of, typed(kind, o))
		}
		switch {
		case c.Text != "":
			delta("response.output_text.delta", Object{"content_index": 0, "delta": c.Text, "logprobs": []any{}})
		case c.Refusal != "":
			delta("response.refusal.delta", Object{"content_index": 0, "delta": c.Refusal})
		case c.Reasoning != "":
			delta("response.reasoning_summary_text.delta", Object{"summary_index": 0, "delta": c.Reasoning})
		case c.ToolCall.Name != "":
			of = append(of, begin()...)
		default:
			delta("response.function_call_arguments.delta", Object{"delta": c.ToolCall.Arguments})
		}
		all.chunks = append(all.chunks, of)
	}
	last := responsesWhole(e)
	all.after = append(end(), typed("response."+last["status"].(string), Object{"response": last}))
	return all
}
