package openai_test

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
	"github.com/parleyhub/parley/executors/llm/llmtest"
	"github.com/parleyhub/parley/executors/llm/openai"
)

const key = "sk-test-0123456789"

type object = wiretest.Object

var event = wiretest.Event

var vendor = wiretest.Vendor{
	Name: "openai", Key: key, Model: "gpt-4.1",
	Streams: map[llm.API]string{llm.APIResponses: responsesStream, llm.APIChat: chatStream},
	New: func(base, key string, api llm.API, c *http.Client) (llm.Provider, error) {
		return openai.New(&openai.Options{BaseURL: base, APIKey: key, API: api, HTTPClient: c})
	},
}

func fault(f *llmtest.Fault) string {
	return wiretest.JSON(
		object{"error": object{"message": f.Message, "type": "some_error", "param": nil, "code": "some_code"}})
}

func authorized(r *http.Request) error {
	if got := r.Header.Get("Authorization"); got != "Bearer "+key {
		return fmt.Errorf("the header Authorization is %q", got)
	}
	return nil
}

// responsesDialect is the Responses API.
var responsesDialect = wiretest.Dialect{
	Path: "/v1/responses", Fault: fault, Check: checkResponses,
	Whole:  func(e *llmtest.Exchange) string { return wiretest.JSON(responseObject(e, "completed", true)) },
	Stream: responsesEvents,
}

func checkResponses(r *http.Request, body object, e *llmtest.Exchange) error {
	if body["store"] != false {
		return errors.New("store is not false")
	}
	if _, ok := body["seed"]; ok {
		return errors.New("there is no seed")
	}
	if (body["instructions"] != nil) != (e.Request.UseInstructions && e.Request.Instructions != "") {
		return fmt.Errorf("instructions are %v", body["instructions"])
	}
	if n, ok := body["max_output_tokens"].(float64); e.Request.MaxTokens > 0 && (!ok || int(n) != e.Request.MaxTokens) {
		return fmt.Errorf("max_output_tokens is %v", body["max_output_tokens"])
	}
	for _, tool := range wiretest.Objects(body["tools"]) {
		if tool["type"] != "function" || tool["strict"] != false || tool["parameters"].(object)["type"] != "object" {
			return fmt.Errorf("the tool is %v", tool)
		}
	}
	if len(e.Request.Tools) > 0 && e.Request.ToolChoice != "" && body["tool_choice"] != string(e.Request.ToolChoice) {
		return fmt.Errorf("tool_choice is %v", body["tool_choice"])
	}
	if e.Request.Output != nil {
		format, _ := body["text"].(object)["format"].(object)
		if format["type"] != "json_schema" || format["strict"] != true || format["name"] != e.Request.Output.Name ||
			format["schema"].(object)["type"] != "object" {
			return fmt.Errorf("text.format is %v", format)
		}
	}
	return errors.Join(authorized(r), checkItems(wiretest.Objects(body["input"])))
}

// checkItems checks that each call has an output and each output a call.
func checkItems(items []object) error {
	open := map[any]bool{}
	for _, item := range items {
		switch item["type"] {
		case "function_call":
			open[item["call_id"]] = true
		case "function_call_output":
			if !open[item["call_id"]] {
				return fmt.Errorf("output without a call: %v", item["call_id"])
			}
			delete(open, item["call_id"])
		case nil, "message", "reasoning":
		default:
			return fmt.Errorf("the input has the unknown item %v", item)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("no output for the calls %v", open)
	}
	return nil
}

// output returns the answer of the model as items.
func output(e *llmtest.Exchange, whole bool) []object {
	all := []object{}
	if e.Opaque != "" {
		all = append(all, object{"id": "rs_1", "type": "reasoning", "summary": []any{}, "encrypted_content": e.Opaque})
	}
	var content []object
	if e.Response.Text != "" {
		content = append(content,
			object{"type": "output_text", "text": e.Response.Text, "annotations": []any{}, "logprobs": []any{}})
	}
	if e.Response.Refusal != "" {
		content = append(content, object{"type": "refusal", "refusal": e.Response.Refusal})
	}
	if len(content) > 0 {
		all = append(
			all, object{"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": content})
	}
	for _, c := range e.Response.ToolCalls {
		all = append(all, callItem(c, "completed"))
	}
	return all
}

func callItem(c llm.ToolCall, status string) object {
	return object{"id": "fc_" + c.ID, "type": "function_call", "status": status, "call_id": c.ID, "name": c.Name,
		"arguments": c.Arguments}
}

func responseObject(e *llmtest.Exchange, status string, whole bool) object {
	o := object{
		"id": "resp_1", "object": "response", "created_at": 1700000000, "status": status, "error": nil,
		"incomplete_details": nil,
		"model":              e.Request.Model + "-2025", "output": []any{}, "parallel_tool_calls": true, "store": false,
		"metadata": object{}, "usage": nil,
	}
	if !whole {
		return o
	}
	o["output"] = output(e, whole)
	if u := e.Response.Usage; u != nil {
		o["usage"] = object{
			"input_tokens":         u.PromptTokens,
			"input_tokens_details": object{"cached_tokens": u.CacheReadTokens, "cache_write_tokens": u.CacheWriteTokens},
			"output_tokens":        u.CompletionTokens, "output_tokens_details": object{"reasoning_tokens": u.ReasoningTokens},
			"total_tokens": u.TotalTokens,
		}
	}
	if e.Response.Finish == llm.FinishLength {
		o["status"], o["incomplete_details"] = "incomplete", object{"reason": "max_output_tokens"}
	}
	return o
}

// responsesEvents returns the stream of a response. Each item ends where the next one starts.
func responsesEvents(e *llmtest.Exchange) wiretest.Events {
	seq, place := 0, -1
	typed := func(kind string, o object) string {
		o["type"], o["sequence_number"] = kind, seq
		seq++
		return event(kind, o)
	}
	items := output(e, true)
	all := wiretest.Events{
		Before: typed("response.created", object{"response": responseObject(e, "in_progress", false)}) +
			typed("response.in_progress", object{"response": responseObject(e, "in_progress", false)}),
		Garbled: event("response.output_text.delta", llmtest.Garbage),
	}
	end := func() string {
		if place < 0 {
			return ""
		}
		return typed("response.output_item.done", object{"output_index": place, "item": items[place]})
	}
	begin := func() string {
		done := end()
		place++
		item := object{}
		for k, v := range items[place] {
			item[k] = v
		}
		switch item["type"] {
		case "message":
			item["status"], item["content"] = "in_progress", []any{}
		case "function_call":
			item["status"], item["arguments"] = "in_progress", ""
		}
		return done + typed("response.output_item.added", object{"output_index": place, "item": item})
	}
	if e.Opaque != "" {
		all.Before += begin()
	}
	said := false
	for _, c := range e.Chunks {
		var text string
		if c.ToolCall == nil && !said {
			text, said = begin()+typed("response.content_part.added",
				object{"output_index": place, "item_id": "msg_1", "content_index": 0,
					"part": object{"type": "output_text", "text": ""}}), true
		}
		at := func(o object) object {
			o["output_index"], o["item_id"], o["content_index"] = place, "item", 0
			return o
		}
		switch {
		case c.Text != "":
			text += typed("response.output_text.delta", at(object{"delta": c.Text, "logprobs": []any{}}))
		case c.Refusal != "":
			text += typed("response.refusal.delta", at(object{"delta": c.Refusal}))
		case c.ToolCall.Name != "":
			text += begin()
		default:
			text += typed("response.function_call_arguments.delta", at(object{"delta": c.ToolCall.Arguments}))
		}
		all.Chunks = append(all.Chunks, text)
	}
	last := responseObject(e, "completed", true)
	all.After = end() + typed("response."+last["status"].(string), object{"response": last})
	return all
}
