package openai_test

import (
	"fmt"
	"net/http"

	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
	"github.com/parleyhub/parley/executors/llm/llmtest"
)

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
	return authorized(r)
}
