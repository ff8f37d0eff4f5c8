//go:build live

package wiretest

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/llm"
)

// TestLive calls the vendor with the key in PREFIX_API_KEY, which costs a little money:
//
//	go test -tags live -run Live -v ./executors/llm/openai ./executors/llm/anthropic
//
// PREFIX_LIVE_MODELS names other models, separated by commas. none is a model that does not exist.
func (v *Vendor) TestLive(t *testing.T, prefix, models, none string) {
	key := os.Getenv(prefix + "_API_KEY")
	if key == "" {
		t.Skipf("nothing was tested: %s_API_KEY is not set", prefix)
	}
	p, err := v.New(os.Getenv(prefix+"_BASE_URL"), key, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if others := os.Getenv(prefix + "_LIVE_MODELS"); others != "" {
		models = others
	}
	for model := range strings.SplitSeq(models, ",") {
		for api := range v.Streams {
			t.Run(model+" "+string(api), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				t.Run("tools", func(t *testing.T) { liveTools(ctx, t, p, model, api) })
				for _, strict := range []bool{true, false} {
					t.Run("JSON", func(t *testing.T) { liveJSON(ctx, t, p, model, api, strict) })
				}
			})
		}
	}
	t.Run("no such model", func(t *testing.T) {
		hi := []llm.Message{{Role: llm.RoleUser, Text: "hi"}}
		_, err := p.Call(t.Context(), &llm.Request{Model: none, Messages: hi}, nil)
		t.Log(err)
		if pe, ok := err.(*llm.ProviderError); !ok || pe.Retryable || pe.Status < 400 {
			t.Errorf("got %#v", err)
		}
	})
}

// liveTools streams a tool call, and sends its result back with the opaque data.
func liveTools(ctx context.Context, t *testing.T, p llm.Provider, model string, api llm.API) {
	req := &llm.Request{
		Model: model, API: api, Instructions: "Answer in one short sentence.", UseInstructions: true,
		MaxTokens: 2000, ToolChoice: llm.ToolsRequired,
		Messages: []llm.Message{{Role: llm.RoleUser, Text: "What is the secret word of the green door? Use the tool."}},
		Tools: []llm.ToolSpec{{Name: "secret_word", Description: "Returns the secret word of a door.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"door":{"type":"string"}},` +
				`"required":["door"],"additionalProperties":false}`)}},
	}
	var all []llm.Chunk
	r, err := p.Call(ctx, req, Collect(&all))
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
	if r, err = p.Call(ctx, req, Collect(&all)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.ToLower(r.Text), "xylophone") || r.Finish != llm.FinishStop || Text(all) != r.Text {
		t.Errorf("got %+v", r)
	}
}

func liveJSON(ctx context.Context, t *testing.T, p llm.Provider, model string, api llm.API, strict bool) {
	req := &llm.Request{
		Model: model, API: api, MaxTokens: 2000,
		Messages: []llm.Message{{Role: llm.RoleUser, Text: "How many legs has a spider?"}},
		Output: &llm.OutputSchema{
			Name: "legs", Strict: strict,
			Schema: json.RawMessage(`{"type":"object","properties":{"legs":{"type":"integer"}},` +
				`"required":["legs"],"additionalProperties":false}`),
		},
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
