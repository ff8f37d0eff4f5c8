package llmtest_test

import (
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/anthropic"
	"github.com/parleyhub/parley/executors/llm/llmtest"
	"github.com/parleyhub/parley/executors/llm/openai"
)

// TestMatrix runs all scenarios against the providers of vendors. go test -v prints the table.
func TestMatrix(t *testing.T) {
	t.Parallel()
	openAI := func(api llm.API) func(t *testing.T, base string) *llm.Runtime {
		return func(t *testing.T, base string) *llm.Runtime {
			p, err := openai.New(&openai.Options{BaseURL: base + "/v1", APIKey: "sk-test-0123456789", API: api})
			if err != nil {
				t.Fatal(err)
			}
			models := llm.OpenAIModels()
			for i := range models {
				models[i].API = api
			}
			return llm.NewRuntime(p, models)
		}
	}
	llmtest.Matrix(t,
		llmtest.Target{Wire: llmtest.Chat, Model: "gpt-4.1", ReasoningModel: "gpt-5", Runtime: openAI(llm.APIChat)},
		llmtest.Target{Wire: llmtest.Responses, Model: "gpt-4.1", ReasoningModel: "gpt-5", Runtime: openAI(llm.APIResponses)},
		llmtest.Target{Wire: llmtest.Messages, Model: "claude-sonnet-4-5", ReasoningModel: "claude-opus-4-8",
			Runtime: func(t *testing.T, base string) *llm.Runtime {
				p, err := anthropic.New(&anthropic.Options{BaseURL: base, APIKey: "sk-ant-test-0123456789"})
				if err != nil {
					t.Fatal(err)
				}
				return llm.NewRuntime(p, llm.AnthropicModels())
			}},
	)
}
