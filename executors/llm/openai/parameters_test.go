package openai_test

import (
	"strings"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
)

// TestParameters has the form of parameters in both APIs.
func TestParameters(t *testing.T) {
	no := false
	tools := []llm.ToolSpec{{Name: "look", Parameters: []byte(`{"type":"object"}`)}}
	for name, c := range map[string]struct {
		p               llm.Parameters
		choice          llm.ToolChoice
		chat, responses string // empty if the API refuses
	}{
		"effort": {llm.Parameters{ReasoningEffort: "low"}, "", `"reasoning_effort":"low"`, `"reasoning":{"effort":"low"}`},
		"stop":   {llm.Parameters{Stop: []string{"END"}}, "", `"stop":["END"]`, ""},
		"budget": {llm.Parameters{ThinkingTokens: 2048}, "", "", ""},
		"one tool at a time": {llm.Parameters{ParallelTools: &no}, "", `"parallel_tool_calls":false`,
			`"parallel_tool_calls":false`},
		"a tool": {llm.Parameters{}, llm.ToolNamed("look"),
			`"tool_choice":{"function":{"name":"look"},"type":"function"}`, `"tool_choice":{"name":"look","type":"function"}`},
	} {
		for api, want := range map[llm.API]string{llm.APIChat: c.chat, llm.APIResponses: c.responses} {
			_, body, err := vendor.Sent(t, api, &llm.Request{Model: "m", Tools: tools, ToolChoice: c.choice, Parameters: c.p,
				Messages: []llm.Message{{Role: llm.RoleUser, Text: "hi"}}})
			if want == "" {
				if body != "" || err == nil || !strings.Contains(err.Error(), "invalid_request") {
					t.Errorf("%s, %s: asked with %s, %v", name, api, body, err)
				}
			} else if !strings.Contains(body, want) {
				t.Errorf("%s, %s: asked with %s", name, api, body)
			}
		}
	}
}
