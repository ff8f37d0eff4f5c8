package anthropic_test

import (
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
				return vendor.Provider(t, llmtest.Messages.Serve(t, s, check), "", nil)
			}}
	})
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
	return nil
}
