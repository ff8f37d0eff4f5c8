package llm_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/llmtest"
)

func TestFindsTheLongestPrefix(t *testing.T) {
	rows := llm.Models{
		{Prefix: "a-long", Capabilities: llm.Capabilities{ContextWindow: 3}},
		{Prefix: "a", Capabilities: llm.Capabilities{ContextWindow: 2}},
		{Prefix: "", Capabilities: llm.Capabilities{ContextWindow: 1}},
		{Prefix: "b", Capabilities: llm.Capabilities{ContextWindow: 4}},
		{Prefix: "b", Capabilities: llm.Capabilities{ContextWindow: 5}},
	}
	for model, want := range map[string]int{"a-long-one": 3, "a-lo": 2, "a": 2, "z": 1, "": 1, "b1": 5} {
		if got := rows.Find(model).ContextWindow; got != want {
			t.Errorf("%q: %d: expected %d", model, got, want)
		}
	}
	if got := (llm.Models)(nil).Find("a"); !reflect.DeepEqual(got, llm.Capabilities{}) {
		t.Errorf("without rows: %+v", got)
	}
}

func TestModelsOfVendors(t *testing.T) {
	openai, anthropic := llm.NewRuntime(llmtest.Func(nil), llm.OpenAIModels()), llm.NewRuntime(llmtest.Func(nil),
		llm.AnthropicModels())
	for _, c := range []struct {
		r           *llm.Runtime
		model       string
		temperature bool
		topP        bool
		schema      bool
		window      int
		bound       int
		none        int // where no bound is given
	}{
		{openai, "gpt-4o", true, true, true, 128_000, 16_384, 0},
		{openai, "gpt-4o-mini", true, true, true, 128_000, 16_384, 0},
		{openai, "gpt-4.1-mini", true, true, true, 1_047_576, 32_768, 0},
		{openai, "gpt-4-turbo", true, true, false, 128_000, 4_096, 0},
		{openai, "gpt-5", false, false, true, 400_000, 128_000, 0},
		{openai, "gpt-5-mini-2025-08-07", false, false, true, 400_000, 128_000, 0},
		{openai, "gpt-5-chat-latest", true, true, true, 128_000, 16_384, 0},
		{openai, "o3-mini", false, false, true, 200_000, 100_000, 0},
		{openai, "o4-mini", false, false, true, 200_000, 100_000, 0},
		{openai, "gpt-9", false, false, true, 0, 0, 0},
		{openai, "ft:gpt-4o:me", true, true, true, 0, 0, 0},
		{anthropic, "claude-3-5-haiku-latest", true, true, false, 200_000, 8_192, 8_192},
		{anthropic, "claude-sonnet-4-20250514", true, true, false, 200_000, 64_000, 8_192},
		{anthropic, "claude-sonnet-4-5", true, false, true, 200_000, 64_000, 8_192},
		{anthropic, "claude-opus-4-1-20250805", true, false, true, 200_000, 32_000, 8_192},
		{anthropic, "claude-opus-4-7", false, false, true, 1_000_000, 128_000, 16_384},
		{anthropic, "claude-opus-5-5", false, false, true, 1_000_000, 128_000, 16_384},
		{anthropic, "claude-new-9", false, false, true, 200_000, 0, 16_384},
	} {
		got := c.r.Capabilities(c.model)
		if !got.NoTemperature != c.temperature || (!got.NoTopP && !got.TemperatureOrTopP) != c.topP ||
			c.r.SupportsSchema(c.model) != c.schema || got.ContextWindow != c.window {
			t.Errorf("%s: %+v", c.model, got)
		}
		if got.DefaultMaxTokens != c.none || got.MaxOutputTokens != c.bound {
			t.Errorf("%s: default %d, bound %d: expected %d, %d", c.model, got.DefaultMaxTokens, got.MaxOutputTokens, c.none,
				c.bound)
		}
		if got.MaxOutputTokens > 0 && got.DefaultMaxTokens > got.MaxOutputTokens || got.Price != nil {
			t.Errorf("%s: %+v", c.model, got)
		}
	}
	for _, all := range []llm.Models{llm.OpenAIModels(), llm.AnthropicModels()} {
		raw, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := llm.LoadModels(raw); err != nil || !reflect.DeepEqual(got, all) {
			t.Errorf("rows are not the same after JSON: %v", err)
		}
	}
}

func TestLoadModels(t *testing.T) {
	for _, c := range []struct{ raw, fault string }{
		{`[]`, ""},
		{`[{"prefix":"a","api":"chat","no_tools":true,"fixed_temperature":1,"context_window":9,"price":{"input":1.5,` +
			`"output":2,"cache_read":0.1}}]`, ""},
		{`[{"prefix":""},{"prefix":"a","price":null}]`, ""},
		{`[{"prefix":"a","think_tags":false,"max_tokens_param":"num_predict"}]`, ""},
		{`[{"think_tags":"no"}]`, "models[0]"},
		{`{}`, "expected a list"},
		{`[] []`, "unexpected data after the value"},
		{`[1]`, "models[0]: expected an object"},
		{`[null]`, "models[0]: expected an object"},
		{`[{"prefix":"a"},{"prefix":"a"}]`, `models[1].prefix: duplicate prefix "a"`},
		{`[{"prefix":"a","no_tool":true}]`, `models[0]: unknown member "no_tool"`},
		{`[{"Prefix":"a"}]`, `models[0]: unknown member "Prefix"`},
		{`[{"price":{"input":1,"output":2,"in":3}}]`, `models[0]: price: unknown member "in"`},
		{`[{"price":{"input":-1,"output":2}}]`, "models[0]: price: expected at least 0"},
		{`[{"context_window":-1}]`, "context_window: expected at least 0"},
		{`[{"context_window":"9"}]`, "models[0]"},
		{`[{"max_temperature":-1}]`, "max_temperature: expected"},
		{`[{"no_temperature":true,"fixed_temperature":1}]`, "mutually exclusive"},
		{`[{"api":"soap"}]`, "api: expected"},
		{`[{"strict_schema":"all"}]`, "strict_schema: expected"},
		{`[{"prefix":"a","prefix":"b"}]`, `models[0]: duplicate member "prefix"`},
		{`[{"price":{"input":1,"output":1,"input":2}}]`, `models[0]: duplicate member "input"`},
	} {
		got, err := llm.LoadModels(json.RawMessage(c.raw))
		if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %+v, error %v: expected %q", c.raw, got, err, c.fault)
		}
	}
	rows, err := llm.LoadModels(
		json.RawMessage(`[{"prefix":"gpt-4o","price":{"input":2.5,"output":10},"context_window":7}]`))
	if err != nil {
		t.Fatal(err)
	}
	if got := append(llm.OpenAIModels(), rows...).Find("gpt-4o-mini"); got.ContextWindow != 7 || got.Price.Output != 10 {
		t.Errorf("a row of a file does not override: %+v", got)
	}
}

type closing struct {
	llmtest.Func
	name string
	err  error
}

func (c closing) Name() string { return c.name }
func (c closing) Close() error { return c.err }

func TestRuntimes(t *testing.T) {
	broken := errors.New("broken")
	rs := llm.NewRuntimes(llm.NewRuntime(closing{name: "openai"}, nil),
		llm.NewRuntime(closing{name: "ollama", err: broken}, nil))
	if got := rs.Names(); !slices.Equal(got, []string{"ollama", "openai"}) {
		t.Errorf("names %v", got)
	}
	for _, c := range []struct {
		rs                   *llm.Runtimes
		name, runtime, model string
		says                 string
	}{
		{rs, "openai:gpt-4o", "openai", "gpt-4o", ""},
		{rs, "ollama:llama3:8b", "ollama", "llama3:8b", ""},
		{rs, "gpt-4o", "", "",
			`invalid model "gpt-4o": expected a runtime, a colon and a model, such as openai:gpt-4o. ` +
				"Available runtimes: ollama, openai"},
		{rs, "openai:", "", "", "expected a runtime, a colon and a model"},
		{rs, ":gpt-4o", "", "", "expected a runtime, a colon and a model"},
		{rs, "anthropic:claude", "", "", `"anthropic" in the model "anthropic:claude". Available runtimes: ollama, openai`},
		{nil, "openai:gpt-4o", "", "", "No runtime is available"},
	} {
		r, model, err := c.rs.Find(c.name)
		if c.says != "" {
			if !errors.Is(err, llm.ErrUnknownRuntime) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: error %v: expected %q", c.name, err, c.says)
			}
			continue
		}
		if err != nil || r.Name() != c.runtime || model != c.model {
			t.Errorf("%s: %q, error %v", c.name, model, err)
		}
	}
	if err := rs.Close(); !errors.Is(err, broken) || !strings.Contains(err.Error(), "ollama") {
		t.Errorf("close: %v", err)
	}
	if err := (*llm.Runtimes)(nil).Close(); err != nil {
		t.Errorf("close of none: %v", err)
	}
}
