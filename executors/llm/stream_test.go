package llm_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/executors/llm"
)

// TestRetryRepeatsNoPrefix has broken streams and the deltas that the sink gets: each text once,
// and a restart if a retry returns another text.
func TestRetryRepeatsNoPrefix(t *testing.T) {
	call := func(id string, pieces ...string) []llm.Chunk {
		chunks := []llm.Chunk{begins(0, id, "look", "")}
		for _, p := range pieces {
			chunks = append(chunks, continuedBy(0, p))
		}
		return chunks
	}
	broke := func(chunks []llm.Chunk) answer { return answer{chunks: chunks, err: broken()} }
	for _, c := range []struct {
		name string
		all  []answer
		want []string
	}{
		{"the same again", []answer{breaks("Hel", "lo"), says("Hel", "lo", " you")}, []string{"Hel", "lo", " you"}},
		{"cut in other places", []answer{breaks("Hel", "lo"), says("H", "ello y", "ou")}, []string{"Hel", "lo", " y", "ou"}},
		{"all in one piece", []answer{breaks("Hel", "lo"), says("Hello you")}, []string{"Hel", "lo", " you"}},
		{"nothing more", []answer{breaks("Hel", "lo"), says("Hello")}, []string{"Hel", "lo"}},
		{"broke off before it began", []answer{breaks(), says("Hello")}, []string{"Hello"}},
		{"broke off at the same place twice", []answer{breaks("Hel"), breaks("Hel"), says("Hello")}, []string{"Hel", "lo"}},
		{"broke off earlier", []answer{breaks("Hello"), breaks("He"), says("Hello you")}, []string{"Hello", " you"}},
		{"another text", []answer{breaks("Hel", "lo"), says("He", "y you")}, []string{"Hel", "lo", "!Hey you"}},
		{"another text at once", []answer{breaks("Hello"), says("Good ", "day")}, []string{"Hello", "!Good ", "day"}},
		{"less", []answer{breaks("Hello you"), says("Hello")}, []string{"Hello you", "!Hello"}},
		{"nothing", []answer{breaks("Hello"),
			{resp: &llm.Response{Refusal: "no", Finish: llm.FinishRefusal}, chunks: []llm.Chunk{{Refusal: "no"}}}},
			[]string{"Hello", "!"}},
		{"another and another", []answer{breaks("one"), breaks("two"), breaks("tw"), says("two three")},
			[]string{"one", "!two", " three"}},
		{"a call again", []answer{broke(call("a", `{"x`)), {chunks: call("a", `{"x`, `":1}`)}}, nil},
		{"a call without an id", []answer{broke(call("", `{"x`)), {chunks: call("", `{`, `"x":1}`)}}, nil},
		{"a call with another id", []answer{broke(call("a", `{"x`)), {chunks: call("b", `{"x":1}`)}}, nil},
		{"a call with other arguments", []answer{broke(call("a", `{"x`)), {chunks: call("a", `{"y":1}`)}}, nil},
		{"a text instead of a call", []answer{broke(call("a", `{"x`)), says("Hello")}, []string{"!Hello"}},
		{"a call instead of a text", []answer{breaks("Hello"), {chunks: call("a", `{}`)}}, []string{"Hello"}},
		{"a text, then a call", []answer{breaks("Hello", " you"), {chunks: append(texts("Hello you."), call("a", `{}`)...)}}, []string{"Hello", " you", "."}},
		{"a shorter text, then the same call", []answer{broke(append(texts("Hello you"), call("a", `{`)...)), {chunks: append(texts("Hello"), call("a", `{}`)...)}}, []string{"Hello you", "!Hello"}},
		{"a longer text, then the same call", []answer{broke(append(texts("Hello"), call("a", `{`)...)), {chunks: append(texts("Hello you"), call("a", `{}`)...)}}, []string{"Hello", "!Hello you"}},
		{"calls in turns", []answer{
			broke([]llm.Chunk{begins(0, "a", "look", ""), begins(1, "b", "look", ""), continuedBy(0, `{`), continuedBy(1, `{`), continuedBy(0, `}`)}),
			{chunks: []llm.Chunk{begins(0, "a", "look", ""), begins(1, "b", "look", ""), continuedBy(0, `{`), continuedBy(1, `{`), continuedBy(0, `}`), continuedBy(1, `}`)}},
		}, nil},
	} {
		for _, every := range []time.Duration{0, time.Second} {
			t.Run(c.name+" every "+every.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a := &answers{all: c.all}
					r := a.runtime(nil)
					h := &heard{t: t}
					p := prepare(t, r, &llm.Definition{Model: "m"}, &llm.Options{MaxRetries: 5, Streaming: llm.StreamingOptions{Every: every}})
					got, err := r.RunStream(t.Context(), p, question("hi"), h.sink)
					if err != nil {
						t.Fatal(err)
					}
					h.whole(nil)
					if h.text != got.Content || !slices.Equal(h.calls, got.ToolCalls) {
						t.Errorf("the deltas say %q and %v, and the result %q and %v", h.text, h.calls, got.Content, got.ToolCalls)
					}
					if got.Timings.Retries != len(c.all)-1 {
						t.Errorf("%d retries: expected %d", got.Timings.Retries, len(c.all)-1)
					}
					if c.want != nil && every == 0 && !reflect.DeepEqual(h.deltas(), c.want) {
						t.Errorf("deltas %q: expected %q", h.deltas(), c.want)
					}
				})
			})
		}
	}
}

func TestDeltasAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
			for _, c := range texts("a", "b", "c", "d", "e") {
				if err := emit(c); err != nil {
					return nil, err
				}
				time.Sleep(40 * time.Millisecond)
			}
			time.Sleep(time.Second)
			return &llm.Response{Text: "abcde", Finish: llm.FinishStop}, nil
		}
		r := llm.NewRuntime(fake(slow), nil)
		h := &heard{t: t}
		began, last := time.Now(), time.Time{}
		p := prepare(t, r, &llm.Definition{Model: "m"}, &llm.Options{Streaming: llm.StreamingOptions{Every: 100 * time.Millisecond}})
		_, err := r.RunStream(t.Context(), p, question("hi"), func(e llm.Event) error {
			if e.Type == llm.EventDelta {
				last = e.At
			}
			return h.sink(e)
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"abc", "de"}; !reflect.DeepEqual(h.deltas(), want) {
			t.Errorf("deltas %q: expected %q", h.deltas(), want)
		}
		if got := last.Sub(began); got > 210*time.Millisecond {
			t.Errorf("the last delta was sent after %s: expected it while the model sends nothing", got)
		}
	})
}

func TestEventsOfAStream(t *testing.T) {
	a := &answers{all: []answer{{chunks: append(texts(`{"a":`, `1}`), llm.Chunk{Refusal: ""})[:2]}}}
	r := a.runtime(nil)
	h := &heard{t: t}
	p := prepare(t, r, &llm.Definition{Model: "m", OutputSchema: schema(`{"type":"object"}`)}, nil)
	got, err := r.RunStream(t.Context(), p, question("hi"), h.sink)
	if err != nil {
		t.Fatal(err)
	}
	h.whole(nil)
	usage, complete := h.events[3], h.events[4]
	if usage.Usage == nil || !usage.Usage.Estimated || *usage.Usage != got.Usage || complete.Result != got {
		t.Errorf("usage %+v and result %+v: expected those of %+v", usage.Usage, complete.Result, got)
	}
	if !h.events[1].IsJSON || h.events[0].IsJSON {
		t.Error("expected deltas of JSON to say so, and no other event")
	}
	if got.Timings.Chunks != 2 || got.Timings.FirstToken <= 0 || got.Elapsed < got.Timings.FirstToken {
		t.Errorf("timings %+v, elapsed %s", got.Timings, got.Elapsed)
	}
}

func TestFailedSinkEndsRun(t *testing.T) {
	full := errors.New("full")
	for _, at := range []llm.EventType{llm.EventStart, llm.EventDelta, llm.EventUsage, llm.EventComplete} {
		for _, every := range []time.Duration{0, time.Hour} {
			a := &answers{all: []answer{says("a", "b")}}
			r := a.runtime(nil)
			p := prepare(t, r, &llm.Definition{Model: "m"}, &llm.Options{MaxRetries: 3, Streaming: llm.StreamingOptions{Every: every}})
			calls := 0
			_, err := r.RunStream(t.Context(), p, question("hi"), func(e llm.Event) error {
				if calls++; e.Type == at {
					return full
				}
				if calls > 10 {
					t.Fatal("the sink is called again after its error")
				}
				return nil
			})
			if !errors.Is(err, full) || len(a.asked) > 1 {
				t.Errorf("%s: error %v after %d calls: expected the sink's", at, err, len(a.asked))
			}
		}
	}
}

// TestStreamedAndPlainAreTheSame also counts tokens without usage of the vendor.
func TestStreamedAndPlainAreTheSame(t *testing.T) {
	for _, resp := range []*llm.Response{
		nil,
		{Text: "Hello you", Finish: llm.FinishStop, Usage: &llm.Usage{PromptTokens: 9, CompletionTokens: 3, TotalTokens: 12, CacheReadTokens: 4}, Model: "m-1"},
		{ToolCalls: []llm.ToolCall{{Name: "look", Arguments: `{"x":1}`}, {Name: "look"}}, Finish: llm.FinishToolCalls},
		{Refusal: "I will not", Finish: llm.FinishRefusal},
	} {
		a := &answers{all: []answer{{chunks: texts("Hel", "lo", " you"), resp: resp}}}
		r := a.runtime(llm.Models{{Capabilities: llm.Capabilities{Price: &llm.Price{Input: 1, Output: 2}}}})
		p := prepare(t, r, &llm.Definition{Model: "m"}, nil)
		plain, err := r.Run(t.Context(), p, question("hi"))
		if err != nil {
			t.Fatal(err)
		}
		streamed, err := r.RunStream(t.Context(), p, question("hi"), nil)
		if err != nil {
			t.Fatal(err)
		}
		plain.Elapsed, plain.Timings, streamed.Elapsed, streamed.Timings = 0, llm.Timings{}, 0, llm.Timings{}
		if !reflect.DeepEqual(plain, streamed) {
			t.Errorf("plain %+v, streamed %+v", plain, streamed)
		}
		if plain.Usage.TotalTokens == 0 || plain.CostUSD == nil || *plain.CostUSD == 0 {
			t.Errorf("usage %+v, cost %v", plain.Usage, plain.CostUSD)
		}
	}
}
