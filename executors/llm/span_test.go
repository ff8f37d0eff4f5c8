package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/internal/spantest"
)

// spanOf returns the only span, which must have ended.
func spanOf(t *testing.T, r *spantest.Recorder) spantest.Span {
	t.Helper()
	all := r.Spans()
	if len(all) != 1 || all[0].Name != "chat m" || all[0].Kind != parley.SpanClient || all[0].Ends != 1 {
		t.Fatalf("the spans are %+v", all)
	}
	return all[0]
}

// has compares an attribute. A nil value means that it is missing.
func has(t *testing.T, s spantest.Span, key string, want any) {
	t.Helper()
	if got := s.Attributes[key]; fmt.Sprintf("%T %[1]v", got) != fmt.Sprintf("%T %[1]v", want) {
		t.Errorf("%s is %T %[2]v, expected %T %[3]v", key, got, want)
	}
}

// A run is one span with all its attempts. It describes the request and the result, without any
// content.
func TestRunSpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const secret = "a secret"
		half, seed := 0.5, int64(7)
		last := answer{chunks: texts("the ", secret), resp: &llm.Response{
			Text: "the " + secret, Finish: llm.FinishStop, Model: "m-2", Metadata: map[string]string{"response_id": "resp-1"},
			Usage: &llm.Usage{PromptTokens: 10, CompletionTokens: 5, TotalTokens: 15, CacheReadTokens: 3, CacheWriteTokens: 2,
				ReasoningTokens: 1},
		}}
		a, r := &answers{all: []answer{{err: broken()}, last}}, &spantest.Recorder{}
		runtime := a.runtime(nil)
		p := prepare(t, runtime,
			&llm.Definition{Model: "m", Instructions: secret, Temperature: &half, TopP: &half, MaxTokens: 100}, &llm.Options{
				MaxRetries: 1, Seed: &seed, Retry: llm.Retry{Min: time.Second, Max: time.Second},
				Attributes: []parley.Attribute{{Key: "test", Value: "mine"}},
			})
		if _, err := runtime.RunStream(parley.WithTracer(t.Context(), r), p, question(secret), nil); err != nil {
			t.Fatal(err)
		}
		s := spanOf(t, r)
		for key, want := range map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "fake", "gen_ai.request.model": "m",
			"gen_ai.request.max_tokens":  100,
			"gen_ai.request.temperature": 0.5, "gen_ai.request.top_p": 0.5, "gen_ai.request.seed": int64(7),
			"gen_ai.request.stream": true, "gen_ai.output.type": "text",
			"gen_ai.response.model": "m-2", "gen_ai.response.id": "resp-1", "gen_ai.response.finish_reasons": []string{"stop"},
			"gen_ai.usage.input_tokens": int64(10), "gen_ai.usage.output_tokens": int64(5),
			"gen_ai.usage.cache_read.input_tokens":     int64(3),
			"gen_ai.usage.cache_creation.input_tokens": int64(2), "gen_ai.usage.reasoning.output_tokens": int64(1),
			"parley.model.tries": 2, "test": "mine",
		} {
			has(t, s, key, want)
		}
		if first, _ := s.Attributes["gen_ai.response.time_to_first_chunk"].(float64); first < 0.5 || first > 1.5 {
			t.Errorf("the first chunk came after %v s", first)
		}
		if s.Failure != "" || strings.Contains(fmt.Sprint(s), secret) {
			t.Errorf("the span is %+v", s)
		}
	})
}

// The span reports the kind of failure by the names of this package.
func TestRunSpanFailure(t *testing.T) {
	for want, all := range map[string]struct {
		answer answer
		o      llm.Options
		schema string
	}{
		"network": {answer: breaks("half")},
		"quota": {answer: answer{err: &llm.ProviderError{Category: llm.CategoryQuota, Status: 429, Code: "insufficient_quota",
			Message: "the key sk-abcdef123 is out of credit"}}},
		"schema_error":    {answer: says("no"), schema: `{"type":"object"}`},
		"budget_exceeded": {answer: says(strings.Repeat("many words ", 100)), o: llm.Options{Budget: llm.Budget{Tokens: 20}}},
		"canceled":        {answer: answer{err: context.Canceled}},
		"other":           {answer: answer{err: errors.New("a secret")}},
	} {
		a, r := &answers{all: []answer{all.answer}}, &spantest.Recorder{}
		runtime := a.runtime(nil)
		d := &llm.Definition{Model: "m"}
		if all.schema != "" {
			d.OutputSchema = json.RawMessage(all.schema)
		}
		p := prepare(t, runtime, d, &all.o)
		if _, err := runtime.RunStream(parley.WithTracer(t.Context(), r), p, question("hi"), nil); err == nil {
			t.Errorf("%s: the run did not fail", want)
		}
		s := spanOf(t, r)
		if s.Failure != want {
			t.Errorf("the span failed with %q, expected %q", s.Failure, want)
		}
		if want == "quota" {
			has(t, s, "parley.model.error_code", "insufficient_quota")
			has(t, s, "parley.model.error_detail", "HTTP 429, insufficient_quota: the key [key] is out of credit")
		}
	}
}

// The span of a run ends even if the provider panics.
func TestRunSpanAfterPanic(t *testing.T) {
	r := &spantest.Recorder{}
	runtime := (&answers{}).runtime(nil) // it panics without an answer
	p := prepare(t, runtime, &llm.Definition{Model: "m"}, nil)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the provider did not panic")
			}
		}()
		_, _ = runtime.Run(parley.WithTracer(t.Context(), r), p, question("hi"))
	}()
	spanOf(t, r)
}

// Content is set on request, in the form of the conventions and within limits.
func TestRunSpanContent(t *testing.T) {
	long := strings.Repeat("é", 20_000)
	a, r := &answers{
		all: []answer{{chunks: []llm.Chunk{{Text: "wait"}, begins(0, "c2", "look", `{"x":1}`)}}}},
		&spantest.Recorder{TellContent: true}
	runtime := a.runtime(nil)
	p := prepare(t, runtime, &llm.Definition{Model: "m", Instructions: "be kind"}, nil)
	in := &llm.Input{Messages: []llm.Message{
		{Role: llm.RoleUser, Text: "<hi>"},
		{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "c1", Name: "look", Arguments: "no JSON"}}},
		{Role: llm.RoleTool, Results: []llm.ToolResult{{CallID: "c1", Name: "look", Text: "seen"}}},
	}}
	ctx := parley.WithTracer(t.Context(), r)
	if _, err := runtime.Run(ctx, p, in); err != nil {
		t.Fatal(err)
	}
	s := spanOf(t, r)
	has(t, s, "gen_ai.system_instructions", `[{"type":"text","content":"be kind"}]`)
	has(t, s, "gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"\u003chi\u003e"}]},`+
		`{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"look","arguments":"no JSON"}]},`+
		`{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","name":"look","response":"seen"}]}]`)
	has(t, s, "gen_ai.output.messages",
		`[{"role":"assistant","parts":[{"type":"text","content":"wait"},{"type":"tool_call","id":"c2","name":"look",`+
			`"arguments":{"x":1}}],"finish_reason":"tool_calls"}]`)

	in.Messages = nil
	for i := range 40 {
		in.Messages = append(in.Messages, llm.Message{Role: llm.RoleUser, Text: fmt.Sprint(i, " ", long)})
	}
	if _, err := runtime.Run(ctx, p, in); err != nil {
		t.Fatal(err)
	}
	told, _ := r.Spans()[1].Attributes["gen_ai.input.messages"].(string)
	var messages []struct{ Parts []struct{ Content string } }
	if err := json.Unmarshal([]byte(told), &messages); err != nil {
		t.Fatal(err)
	}
	if n := len(messages); len(told) > 128<<10+100 || n < 2 || n == 40 ||
		!strings.HasPrefix(messages[n-1].Parts[0].Content, "39 é") || strings.Contains(told, "\uFFFD") {
		t.Errorf("%d messages in %d bytes, the last one is %.20s", n, len(told), messages[n-1].Parts[0].Content)
	}
}
