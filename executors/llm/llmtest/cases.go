package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/llm"
)

var (
	weather = llm.ToolSpec{
		Name: "get_weather", Description: "Tells-the-weather",
		Parameters: json.RawMessage(
			`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`),
	}
	clock = llm.ToolSpec{Name: "get_time", Description: "Tells-the-time",
		Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}
)

func user(text string) llm.Message { return llm.Message{Role: llm.RoleUser, Text: text} }

// ask returns a request with one message. Setup.script sets the model.
func ask(text string) llm.Request {
	return llm.Request{Messages: []llm.Message{user(text)}, MaxTokens: 512}
}

func usage(prompt, completion int64) *llm.Usage {
	return &llm.Usage{PromptTokens: prompt, CompletionTokens: completion, TotalTokens: prompt + completion}
}

// pieces returns a chunk for each text.
func pieces(texts ...string) []llm.Chunk {
	all := make([]llm.Chunk, len(texts))
	for i, t := range texts {
		all[i].Text = t
	}
	return all
}

// say returns an exchange whose answer is a text in chunks.
func say(question string, texts ...string) Exchange {
	return Exchange{
		Request:  ask(question),
		Response: llm.Response{Text: strings.Join(texts, ""), Finish: llm.FinishStop, Usage: usage(11, 7)},
		Chunks:   pieces(texts...), Want: []string{question},
	}
}

func call(i int, id, name string) llm.Chunk {
	return llm.Chunk{ToolCall: &llm.ToolCallChunk{Index: i, ID: id, Name: name}}
}

func arguments(i int, piece string) llm.Chunk {
	return llm.Chunk{ToolCall: &llm.ToolCallChunk{Index: i, Arguments: piece}}
}

func cases() []testCase {
	streamed := true
	all := []testCase{
		{name: "text", exchanges: []Exchange{say("greeting", "Hel", "lo, ", "wor", "ld")}},
		{name: "text of all kinds",
			exchanges: []Exchange{say("unicode", "naïve ", "日本", "語 🙂", "\n\n\"quoted\" \\ <b>&amp;</b>\t", "\u2028 end ")}},
		{name: "a large text", exchanges: []Exchange{say("large", strings.Repeat("0123456789abcdef", 16<<10), "end")}},
		{name: "instructions and parameters", exchanges: []Exchange{parameters(true), parameters(false)}},
		{name: "a conversation", exchanges: []Exchange{history()}},
		{name: "tools", exchanges: []Exchange{tools()}, check: checkIDs},
		{name: "results of tools", exchanges: []Exchange{tools(), results()}},
		{name: "a tool without arguments", exchanges: []Exchange{{
			Request: withTools("what-time", clock),
			Response: llm.Response{ToolCalls: []llm.ToolCall{{ID: "call_1", Name: "get_time"}}, Finish: llm.FinishToolCalls,
				Usage: usage(30, 5)},
			Chunks: []llm.Chunk{call(0, "call_1", "get_time")},
		}}},
		{name: "no tools now", exchanges: []Exchange{func() Exchange {
			e := say("no-tools-now", "as ", "you like")
			e.Request.Tools, e.Request.ToolChoice = []llm.ToolSpec{weather}, llm.ToolsNone
			return e
		}()}},
		{name: "a tool is required", exchanges: []Exchange{func() Exchange {
			e := tools()
			e.Request.ToolChoice = llm.ToolsRequired
			return e
		}()}},
		{name: "refusal", exchanges: []Exchange{{
			Request:  ask("something-bad"),
			Response: llm.Response{Refusal: "I cannot help with that.", Finish: llm.FinishRefusal, Usage: usage(9, 6)},
			Chunks:   []llm.Chunk{{Refusal: "I cannot "}, {Refusal: "help with that."}},
		}}},
		{name: "the bound of length", exchanges: []Exchange{func() Exchange {
			e := say("long-story", "Once upon ", "a ti")
			e.Response.Finish = llm.FinishLength
			return e
		}()}},
		{name: "JSON", exchanges: []Exchange{output()}},
		{name: "usage of caches and reasoning", exchanges: []Exchange{func() Exchange {
			e := say("cached", "fi", "ne")
			e.Response.Usage = &llm.Usage{PromptTokens: 1200, CompletionTokens: 80, TotalTokens: 1280, CacheReadTokens: 1000,
				CacheWriteTokens: 100, ReasoningTokens: 60}
			return e
		}()}},
		{name: "no usage", exchanges: []Exchange{func() Exchange {
			e := say("uncounted", "fi", "ne")
			e.Response.Usage = nil
			return e
		}()}},
		{name: "opaque data is sent back", needs: func(s *Setup) bool { return !s.NoOpaque },
			exchanges: opaque()},
		{name: "opaque data of another provider is left out", exchanges: []Exchange{foreign()}},
		{name: "a malformed answer", needs: func(s *Setup) bool { return !s.NoMalformed },
			exchanges: []Exchange{func() Exchange {
				e := say("garbled", "one ", "two ", "three")
				e.Fault = &Fault{Malformed: true, AfterChunks: 1}
				return e
			}()}},
		{name: "a stream breaks off", only: &streamed, needs: func(s *Setup) bool { return !s.NoBreak },
			exchanges: []Exchange{func() Exchange {
				e := say("broken", "one ", "two ", "three")
				e.Fault = &Fault{Break: true, AfterChunks: 2}
				return e
			}()}},
		{name: "a stream ends before it starts", needs: func(s *Setup) bool { return !s.NoBreak },
			exchanges: []Exchange{func() Exchange {
				e := say("broken-at-once", "one ", "two")
				e.Fault = &Fault{Break: true}
				return e
			}()}},
		{name: "a slow answer is cancelled", exchanges: []Exchange{func() Exchange {
			e := say("slow", "one ", "two ", "three")
			e.Fault = &Fault{Hang: true, AfterChunks: 2}
			return e
		}()}},
	}
	for _, f := range []Fault{
		{Status: 400}, {Status: 401}, {Status: 403}, {Status: 404}, {Status: 408}, {Status: 413}, {Status: 422},
		{Status: 429}, {Status: 429, RetryAfter: 3 * time.Second},
		{Status: 500}, {Status: 503, RetryAfter: 2 * time.Second}, {Status: 529},
	} {
		f.Message = "the vendor says no"
		name := fmt.Sprintf("status %d", f.Status)
		if f.RetryAfter > 0 {
			name += " with a pause"
		}
		all = append(all, testCase{name: name, exchanges: []Exchange{{Request: ask("refused"), Fault: &f}}})
	}
	return all
}

// parameters has all parameters of the smallest model. The digits distinguish temperature and
// top_p.
func parameters(beside bool) Exchange {
	question := map[bool]string{true: "beside", false: "first"}[beside]
	e := say("parameters-"+question, "un", "derstood")
	temperature := 0.25
	e.Request.Instructions, e.Request.UseInstructions = "You-are-a-parrot", beside
	e.Request.Temperature, e.Request.MaxTokens = &temperature, 321
	e.Want = append(e.Want, "You-are-a-parrot", "25", "321")
	return e
}

func history() Exchange {
	e := say("third-question", "good ", "bye")
	e.Request.Messages = []llm.Message{user("first-question"), {Role: llm.RoleAssistant, Text: "first-answer"},
		user("second-question"), user("third-question")}
	e.Want = []string{"first-question", "first-answer", "second-question", "third-question"}
	return e
}

func withTools(text string, tools ...llm.ToolSpec) llm.Request {
	r := ask(text)
	r.Tools = tools
	return r
}

// tools has a text and two calls, with arguments in several chunks.
func tools() Exchange {
	return Exchange{
		Request: withTools("weather-please", weather, clock),
		Want:    []string{"weather-please", "get_weather", "Tells-the-weather", "city", "get_time", "Tells-the-time"},
		Response: llm.Response{
			Text: "Let me look.", Finish: llm.FinishToolCalls, Usage: usage(52, 31),
			ToolCalls: []llm.ToolCall{{ID: "call_1", Name: "get_weather", Arguments: `{"city":"Paris"}`},
				{ID: "call_2", Name: "get_weather", Arguments: `{"city":"Reykjavík"}`}},
		},
		Chunks: []llm.Chunk{
			{Text: "Let me "}, {Text: "look."},
			call(0, "call_1", "get_weather"), arguments(0, `{"ci`), arguments(0, `ty":"Paris"}`),
			call(1, "call_2", "get_weather"), arguments(1, `{"city":`), arguments(1, `"Reykjav`), arguments(1, `ík"}`),
		},
	}
}

func checkIDs(t *testing.T, s *Setup, all []Outcome) {
	calls := all[0].Response.ToolCalls
	if calls[0].ID == calls[1].ID && calls[0].ID != "" {
		t.Errorf("two calls have the id %q", calls[0].ID)
	}
}

func results() Exchange {
	e := say("", "Sunny in ", "Paris.")
	e.Follows = true
	e.Request.Tools = []llm.ToolSpec{weather, clock}
	e.Request.Messages = []llm.Message{{Role: llm.RoleTool, Results: []llm.ToolResult{
		{Name: "get_weather", Text: "sunny-21"}, {Name: "get_weather", Text: "no-such-city", IsError: true},
	}}}
	e.Want = []string{"weather-please", "get_weather", "sunny-21", "no-such-city"}
	return e
}

func output() Exchange {
	e := say("as-json", `{"city":`, `"Paris","sunny`, `_days":3}`)
	e.Request.Output = &llm.OutputSchema{
		Name: "forecast", Strict: true,
		Schema: json.RawMessage(
			`{"type":"object","properties":{"city":{"type":"string"},"sunny_days":{"type":"integer"}},"required":["city",` +
				`"sunny_days"],"additionalProperties":false}`),
	}
	e.Want = append(e.Want, "sunny_days")
	return e
}

// opaque has opaque data in an answer with tool calls, which is sent back with the results.
func opaque() []Exchange {
	first, second := tools(), results()
	first.Opaque = "unread-0a1b2c3d"
	second.Want = append(second.Want, first.Opaque)
	return []Exchange{first, second}
}

func foreign() Exchange {
	e := history()
	e.Request.Messages[1].Opaque = &llm.Opaque{Provider: "another-provider",
		Data: json.RawMessage(`{"thought":"foreign-0a1b2c3d"}`)}
	e.Never = []string{"foreign-0a1b2c3d"}
	return e
}

var errSink = errors.New("the sink is full")

func sinkFails(t *testing.T, s Setup) {
	c := testCase{name: "sink", exchanges: []Exchange{say("sink", "one ", "two ", "three")}}
	p := s.Provider(t, s.script(&c, true))
	defer p.Close()
	req := c.exchanges[0].Request
	req.Model, req.API = s.Model, s.API
	said := 0
	_, err := p.Call(t.Context(), &req, func(llm.Chunk) error {
		said++
		return errSink
	})
	if !errors.Is(err, errSink) || said != 1 {
		t.Errorf("the call failed with %v after %d chunks: expected the sink's error after 1", err, said)
	}
}

func canceledCall(t *testing.T, s Setup) {
	c := testCase{name: "gone", exchanges: []Exchange{say("gone", "one ", "two ", "three")}}
	p := s.Provider(t, s.script(&c, false))
	defer p.Close()
	req := c.exchanges[0].Request
	req.Model, req.API = s.Model, s.API
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Call(ctx, &req, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the call failed with %v: expected the error of its context", err)
	}
}

// concurrentCalls makes calls from many goroutines. All exchanges are equal, so their order does
// not matter.
func concurrentCalls(t *testing.T, s Setup) {
	c := testCase{name: "calls at once"}
	for range 8 {
		c.exchanges = append(c.exchanges, say("all-the-same", "one ", "two ", "three"))
	}
	script := s.script(&c, true)
	p := s.Provider(t, script)
	defer p.Close()
	var group sync.WaitGroup
	for i := range script.Exchanges {
		group.Go(func() {
			e := &script.Exchanges[i]
			o := e.call(t.Context(), p, nil)
			if o.Err != nil {
				t.Errorf("call %d: %v", i, o.Err)
				return
			}
			if got := textOf(o.Chunks); got != e.Response.Text || o.Response.Text != got {
				t.Errorf("call %d has the text %q, in chunks %q: expected %q", i, o.Response.Text, got, e.Response.Text)
			}
		})
	}
	group.Wait()
}
