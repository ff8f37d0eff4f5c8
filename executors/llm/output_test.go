package llm_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
)

const forecast = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"array",` +
	`"items":{"type":"integer"}}},"required":["city"],"additionalProperties":false}`

func TestOutputIsChecked(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		paths            []string
	}{
		{name: "as it should be", text: `{"city":"Paris"}`, want: `{"city":"Paris"}`},
		{name: "with spaces", text: "\n {\"city\": \"Paris\"}\n", want: `{"city": "Paris"}`},
		{name: "in a fence", text: "Here you are:\n```json\n{\"city\":\"Paris\"}\n```\nAnything else?",
			want: `{"city":"Paris"}`},
		{name: "in a fence without a name", text: "```\n{\"city\":\"Paris\"}\n```", want: `{"city":"Paris"}`},
		{name: "in a fence, CRLF", text: "```json\r\n{\"city\":\"Paris\"}\r\n```", want: `{"city":"Paris"}`},
		{name: "in two fences", text: "```json\n{\"city\":\"Paris\"}\n```\n```json\n{\"city\":\"Rome\"}\n```",
			paths: []string{"$"}},
		{name: "no JSON", text: "Paris", paths: []string{"$"}},
		{name: "nothing", text: "", paths: []string{"$"}},
		{name: "half", text: `{"city":"Par`, paths: []string{"$"}},
		{name: "two values", text: `{"city":"Paris"} {"city":"Rome"}`, paths: []string{"$"}},
		{name: "another type", text: `{"city":1,"days":[1,"x"]}`, paths: []string{"$.city", "$.days[1]"}},
		{name: "too little", text: `{}`, paths: []string{"$"}},
		{name: "too much", text: `{"city":"Paris","mood":"good"}`, paths: []string{"$.mood"}},
		{name: "another kind", text: `["Paris"]`, paths: []string{"$"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &answers{all: []answer{{resp: &llm.Response{Text: c.text, Finish: llm.FinishStop}}}}
			r := a.runtime(nil)
			h := &heard{t: t}
			got, err := r.RunStream(t.Context(), prepare(t, r, &llm.Definition{Model: "m", OutputSchema: schema(forecast)}, nil), question("hi"), h.sink)
			h.whole(err)
			if c.paths == nil {
				if err != nil || string(got.JSON) != c.want || got.Content != c.text {
					t.Errorf("JSON %s, error %v: expected %s", got.JSON, err, c.want)
				}
				return
			}
			var wrong *llm.SchemaError
			if !errors.As(err, &wrong) || !errors.Is(err, llm.ErrSchema) {
				t.Fatalf("error %v: expected a SchemaError", err)
			}
			var paths []string
			for _, f := range wrong.Faults {
				paths = append(paths, f.Path)
			}
			if !slices.Equal(paths, c.paths) || wrong.Text != c.text {
				t.Errorf("faults %+v: expected those of %v", wrong.Faults, c.paths)
			}
			if got == nil || got.JSON != nil || got.Message.Text != c.text || got.Usage.TotalTokens == 0 {
				t.Errorf("result %+v: expected what came, with the error", got)
			}
		})
	}
}

func TestOnlyAnswersAreChecked(t *testing.T) {
	for _, resp := range []*llm.Response{
		{Text: "Let me look.", ToolCalls: []llm.ToolCall{{ID: "a", Name: "look"}}, Finish: llm.FinishToolCalls},
		{Refusal: "I will not.", Finish: llm.FinishRefusal},
	} {
		a := &answers{all: []answer{{resp: resp}}}
		r := a.runtime(nil)
		got, err := r.Run(t.Context(), prepare(t, r, &llm.Definition{Model: "m", OutputSchema: schema(forecast)}, nil), question("hi"))
		if err != nil || got.JSON != nil {
			t.Errorf("result %+v, error %v", got, err)
		}
	}
}

func TestCallsHaveIDs(t *testing.T) {
	call := func(id string) llm.ToolCall { return llm.ToolCall{ID: id, Name: "look", Arguments: "{}"} }
	for _, c := range []struct {
		name   string
		before []string
		told   []string
		want   []string
	}{
		{"the vendor's", nil, []string{"x", "y"}, []string{"x", "y"}},
		{"missing", nil, []string{"", ""}, []string{"call_1", "call_2"}},
		{"missing, later in the conversation", []string{"call_1", "call_2"}, []string{"", ""}, []string{"call_3", "call_4"}},
		{"one twice", nil, []string{"x", "x"}, []string{"x", "call_1"}},
		{"one of another message", []string{"x"}, []string{"x"}, []string{"call_2"}},
		{"one that looks like ours", nil, []string{"call_1", ""}, []string{"call_1", "call_2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp := &llm.Response{Finish: llm.FinishToolCalls, Opaque: &llm.Opaque{Provider: "fake"}}
			var chunks []llm.Chunk
			for i, id := range c.told {
				resp.ToolCalls = append(resp.ToolCalls, call(id))
				chunks = append(chunks, begins(i, id, "look", "{}"))
			}
			in := question("hi")
			for _, id := range c.before {
				in.Messages = append(in.Messages, llm.Message{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{call(id)}}, llm.Message{Role: llm.RoleTool, Results: []llm.ToolResult{{CallID: id}}})
			}
			for range 2 { // the ids are the same each time
				a := &answers{all: []answer{{resp: resp, chunks: chunks}}}
				r := a.runtime(nil)
				h := &heard{t: t}
				got, err := r.RunStream(t.Context(), prepare(t, r, &llm.Definition{Model: "m"}, nil), in, h.sink)
				if err != nil {
					t.Fatal(err)
				}
				var ids []string
				for _, tc := range got.ToolCalls {
					ids = append(ids, tc.ID)
				}
				if !slices.Equal(ids, c.want) || !slices.Equal(h.calls, got.ToolCalls) || !slices.Equal(got.Message.ToolCalls, got.ToolCalls) {
					t.Errorf("ids %v, streamed %v: expected %v", ids, h.calls, c.want)
				}
				if got.Message.Opaque == nil {
					t.Error("the message lost its opaque part")
				}
			}
			if resp.ToolCalls[0].ID != c.told[0] {
				t.Error("the response of the provider was changed")
			}
		})
	}
}

func TestCost(t *testing.T) {
	usage := llm.Usage{PromptTokens: 1_000_000, CompletionTokens: 100_000, TotalTokens: 1_100_000, CacheReadTokens: 500_000, CacheWriteTokens: 200_000}
	for _, c := range []struct {
		price *llm.Price
		want  float64
	}{
		{nil, -1},
		{&llm.Price{Input: 2, Output: 10}, 2 + 1},
		{&llm.Price{Input: 2, Output: 10, CacheRead: price(0), CacheWrite: price(0)}, 0.3*2 + 1},
		{&llm.Price{Input: 2, Output: 10, CacheRead: price(0.2), CacheWrite: price(2.5)}, 0.3*2 + 0.5*0.2 + 0.2*2.5 + 1},
	} {
		a := &answers{all: []answer{{resp: &llm.Response{Text: "x", Finish: llm.FinishStop, Usage: &usage}}}}
		r := a.runtime(llm.Models{{Capabilities: llm.Capabilities{Price: c.price}}})
		got, err := r.Run(t.Context(), prepare(t, r, &llm.Definition{Model: "m"}, nil), question("hi"))
		if err != nil {
			t.Fatal(err)
		}
		if cost := got.CostUSD; (cost == nil) != (c.price == nil) || cost != nil && math.Abs(*cost-c.want) > 1e-9 {
			t.Errorf("cost %s of %s: expected %g", js(cost), js(c.price), c.want)
		}
	}
}

func TestCountTokens(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, " ": 0, "hi": 1, "hello you": 2, "internationalisation": 4, "1234567": 3, `{"a":1}`: 7, "a\nb": 3, "日本語": 3, "naïve": 3,
	} {
		if got := llm.CountTokens(text); got != want {
			t.Errorf("%q: %d tokens: expected %d", text, got, want)
		}
	}
	a := &answers{all: []answer{says("ok")}}
	r := a.runtime(nil)
	p := prepare(t, r, &llm.Definition{Model: "m", Instructions: "Be kind.", UserTemplate: "{x}"}, nil)
	in := &llm.Input{Variables: map[string]any{"x": "hello you"}}
	n, err := p.CountTokens(in)
	got, rerr := r.Run(t.Context(), p, in)
	if err != nil || rerr != nil || n != got.Usage.PromptTokens || n < 5 {
		t.Errorf("%d tokens, error %v: expected %d, as the usage has it", n, err, got.Usage.PromptTokens)
	}
}

func price(n float64) *float64 { return &n }
