package anthropic_test

import (
	"strings"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
)

// TestParameters has the form of parameters, and combinations that the vendor refuses otherwise.
func TestParameters(t *testing.T) {
	half, no, yes := 0.5, false, true
	tools := []llm.ToolSpec{{Name: "look", Parameters: []byte(`{"type":"object"}`)}}
	for name, c := range map[string]struct {
		req         llm.Request
		has, hasNot string
	}{
		"budget": {llm.Request{Temperature: &half, Parameters: llm.Parameters{ThinkingTokens: 2048}},
			`"thinking":{"budget_tokens":2048,"type":"enabled"}`, "temperature"},
		"effort": {llm.Request{Temperature: &half, Parameters: llm.Parameters{ReasoningEffort: "high"}},
			`"output_config":{"effort":"high"}`, "temperature"},
		"effort with a forced tool": {llm.Request{Tools: tools, ToolChoice: llm.ToolsRequired,
			Parameters: llm.Parameters{ReasoningEffort: "minimal"}}, `"effort":"low"`, "adaptive"},
		"no thoughts": {llm.Request{Parameters: llm.Parameters{ReasoningEffort: "none"}}, `"type":"disabled"`, "effort"},
		"stop": {llm.Request{Parameters: llm.Parameters{Stop: []string{"END"}}},
			`"stop_sequences":["END"]`, "thinking"},
		"a tool": {llm.Request{Tools: tools, ToolChoice: llm.ToolNamed("look"),
			Parameters: llm.Parameters{ParallelTools: &no}}, `"disable_parallel_tool_use":true`, "cache_control"},
		"one tool at a time": {llm.Request{Tools: tools, Parameters: llm.Parameters{ParallelTools: &no}},
			`"type":"auto"`, `"any"`},
		"cache": {llm.Request{Instructions: "Be kind.", Tools: tools, Parameters: llm.Parameters{PromptCaching: &yes}},
			`"text":"hi","cache_control":{"type":"ephemeral"}`, "thinking"},
	} {
		t.Run(name, func(t *testing.T) {
			c.req.Model, c.req.MaxTokens = "m", 4096
			c.req.Messages = []llm.Message{{Role: llm.RoleUser, Text: "hi"}}
			_, body, _ := vendor.Sent(t, "", &c.req)
			if !strings.Contains(body, c.has) || strings.Contains(body, c.hasNot) {
				t.Errorf("asked with %s", body)
			}
			if marks := strings.Count(body, "ephemeral"); name == "cache" && marks != 3 {
				t.Errorf("%d marks in %s", marks, body)
			}
		})
	}
}
