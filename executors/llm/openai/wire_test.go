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

var vendor = wiretest.Vendor{
	Name: "openai", Key: key, Model: "gpt-4.1",
	Streams: map[llm.API]string{llm.APIResponses: responsesStream, llm.APIChat: chatStream},
	New: func(base, key string, api llm.API, c *http.Client) (llm.Provider, error) {
		return openai.New(&openai.Options{BaseURL: base, APIKey: key, API: api, HTTPClient: c})
	},
}

func authorized(r *http.Request) error {
	if got := r.Header.Get("Authorization"); got != "Bearer "+key {
		return fmt.Errorf("the header Authorization is %q", got)
	}
	return nil
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
	return authorized(r)
}
