//go:build live

package anthropic_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/anthropic"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
)

// The live tests call the vendor, with ANTHROPIC_API_KEY, and cost little money:
//
//	go test -tags live -run Live -v ./executors/llm/anthropic
//
// ANTHROPIC_LIVE_MODELS names other models, with commas between.
const liveModels = "claude-haiku-4-5"

func TestLive(t *testing.T) {
	p, err := anthropic.FromEnv(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("ANTHROPIC_API_KEY") == "" {
		t.Skip("NOTHING WAS TRIED: ANTHROPIC_API_KEY is not set")
	}
	defer p.Close()
	models := os.Getenv("ANTHROPIC_LIVE_MODELS")
	if models == "" {
		models = liveModels
	}
	for model := range strings.SplitSeq(models, ",") {
		t.Run(model, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			t.Run("tools", func(t *testing.T) { liveTools(ctx, t, p, model) })
			for _, strict := range []bool{true, false} {
				t.Run("JSON", func(t *testing.T) { liveJSON(ctx, t, p, model, strict) })
			}
		})
	}
	t.Run("no such model", func(t *testing.T) {
		_, err := p.Call(t.Context(), &llm.Request{Model: "claude-none", Messages: []llm.Message{{Role: llm.RoleUser, Text: "hi"}}}, nil)
		t.Log(err)
		if pe, ok := err.(*llm.ProviderError); !ok || pe.Retryable || pe.Status < 400 {
			t.Errorf("got %#v", err)
		}
	})
}

// liveTools has a tool called, streamed, and its result sent back with what only the vendor reads.
func liveTools(ctx context.Context, t *testing.T, p *anthropic.Provider, model string) {
	req := &llm.Request{
		Model: model, Instructions: "Answer in one short sentence.", MaxTokens: 1000, ToolChoice: llm.ToolsRequired,
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

func liveJSON(ctx context.Context, t *testing.T, p *anthropic.Provider, model string, strict bool) {
	req := &llm.Request{
		Model: model, MaxTokens: 1000, Messages: []llm.Message{{Role: llm.RoleUser, Text: "How many legs has a spider?"}},
		Output: &llm.OutputSchema{Name: "legs", Strict: strict, Schema: json.RawMessage(`{"type":"object","properties":{"legs":{"type":"integer"}},"required":["legs"],"additionalProperties":false}`)},
	}
	r, err := p.Call(ctx, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Legs int }
	text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(r.Text), "```json"), "```")
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.Legs != 8 {
		t.Errorf("%v: %+v", err, r)
	}
}
