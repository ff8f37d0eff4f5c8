//go:build live

package openai_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
	"github.com/parleyhub/parley/executors/llm/openai"
)

// The live tests call the vendor, with OPENAI_API_KEY, and cost little money:
//
//	go test -tags live -run Live -v ./executors/llm/openai
//
// OPENAI_LIVE_MODELS names other models than these two, with commas between.
const liveModels = "gpt-4.1-mini,gpt-5-mini"

func TestLive(t *testing.T) {
	p, err := openai.FromEnv(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("OPENAI_API_KEY") == "" {
		t.Skip("NOTHING WAS TRIED: OPENAI_API_KEY is not set")
	}
	defer p.Close()
	models := os.Getenv("OPENAI_LIVE_MODELS")
	if models == "" {
		models = liveModels
	}
	for model := range strings.SplitSeq(models, ",") {
		for _, api := range []llm.API{llm.APIResponses, llm.APIChat} {
			t.Run(model+" "+string(api), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				t.Run("tools", func(t *testing.T) { liveTools(ctx, t, p, model, api) })
				t.Run("JSON", func(t *testing.T) { liveJSON(ctx, t, p, model, api) })
			})
		}
	}
	t.Run("no such model", func(t *testing.T) {
		_, err := p.Call(t.Context(), &llm.Request{Model: "gpt-none", Messages: []llm.Message{{Role: llm.RoleUser, Text: "hi"}}}, nil)
		t.Log(err)
		if pe, ok := err.(*llm.ProviderError); !ok || pe.Retryable || pe.Status < 400 {
			t.Errorf("got %#v", err)
		}
	})
}

// liveTools has a tool called, streamed, and its result sent back with what only the vendor reads.
func liveTools(ctx context.Context, t *testing.T, p *openai.Provider, model string, api llm.API) {
	req := &llm.Request{
		Model: model, API: api, Instructions: "Answer in one short sentence.", UseInstructions: true, MaxTokens: 2000, ToolChoice: llm.ToolsRequired,
		Messages: []llm.Message{{Role: llm.RoleUser, Text: "What is the secret word of the green door? Use the tool."}},
		Tools: []llm.ToolSpec{{Name: "secret_word", Description: "Tells the secret word of a door.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"door":{"type":"string"}},"required":["door"],"additionalProperties":false}`)}},
	}
	var all []llm.Chunk
	r, err := p.Call(ctx, req, wiretest.Collect(&all))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v, usage %+v, %d chunks, opaque %t", r.ToolCalls, r.Usage, len(all), r.Opaque != nil)
	if r.Finish != llm.FinishToolCalls || len(r.ToolCalls) == 0 || r.Usage == nil {
		t.Fatalf("got %+v", r)
	}
	results := llm.Message{Role: llm.RoleTool}
	for _, c := range r.ToolCalls {
		results.Results = append(results.Results, llm.ToolResult{CallID: c.ID, Name: c.Name, Text: "xylophone"})
	}
	req.Messages, req.ToolChoice = append(req.Messages, r.Message(), results), llm.ToolsAuto
	all = nil
	if r, err = p.Call(ctx, req, wiretest.Collect(&all)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.ToLower(r.Text), "xylophone") || r.Finish != llm.FinishStop || wiretest.Text(all) != r.Text {
		t.Errorf("got %+v", r)
	}
}

func liveJSON(ctx context.Context, t *testing.T, p *openai.Provider, model string, api llm.API) {
	req := &llm.Request{
		Model: model, API: api, MaxTokens: 2000, Messages: []llm.Message{{Role: llm.RoleUser, Text: "How many legs has a spider?"}},
		Output: &llm.OutputSchema{Name: "legs", Strict: true, Schema: json.RawMessage(`{"type":"object","properties":{"legs":{"type":"integer"}},"required":["legs"],"additionalProperties":false}`)},
	}
	r, err := p.Call(ctx, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Legs int }
	if err := json.Unmarshal([]byte(r.Text), &got); err != nil || got.Legs != 8 {
		t.Errorf("%v: %+v", err, r)
	}
}
