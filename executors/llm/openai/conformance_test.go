package openai_test

import (
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
	"github.com/parleyhub/parley/executors/llm/llmtest"
	"github.com/parleyhub/parley/executors/llm/openai"
)

func TestResponsesConform(t *testing.T) {
	llmtest.Conformance(t, func(t *testing.T) llmtest.Setup {
		return llmtest.Setup{Model: "gpt-5-mini", API: llm.APIResponses, Provider: func(t *testing.T, s *llmtest.Script) llm.Provider {
			return provider(t, openai.Options{BaseURL: wiretest.Serve(t, &responsesDialect, s) + "/v1"})
		}}
	})
}

func TestChatConforms(t *testing.T) {
	llmtest.Conformance(t, func(t *testing.T) llmtest.Setup {
		return llmtest.Setup{Model: "llama3", API: llm.APIChat, NoOpaque: true, Provider: func(t *testing.T, s *llmtest.Script) llm.Provider {
			return provider(t, openai.Options{Name: "ollama", BaseURL: wiretest.Serve(t, &chatDialect, s) + "/v1"})
		}}
	})
}
