package openai_test

import (
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/llmtest"
	"github.com/parleyhub/parley/executors/llm/openai"
)

func TestResponsesConform(t *testing.T) {
	llmtest.Conformance(t, func(t *testing.T) llmtest.Setup {
		return llmtest.Setup{Model: "gpt-4.1-mini", API: llm.APIResponses,
			Provider: func(t *testing.T, s *llmtest.Script) llm.Provider {
				return vendor.Provider(t, llmtest.Responses.Serve(t, s, checkResponses)+"/v1", "", nil)
			}}
	})
}

func TestChatConforms(t *testing.T) {
	llmtest.Conformance(t, func(t *testing.T) llmtest.Setup {
		return llmtest.Setup{Model: "llama3", API: llm.APIChat, NoOpaque: true,
			Provider: func(t *testing.T, s *llmtest.Script) llm.Provider {
				p, err := openai.New(
					&openai.Options{Name: "ollama", APIKey: key, BaseURL: llmtest.Chat.Serve(t, s, checkChat) + "/v1"})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { p.Close() })
				return p
			}}
	})
}
