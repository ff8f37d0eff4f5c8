package llm_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/llmtest"
)

// answers is a provider that returns one answer after another, and records the requests.
type answers struct {
	all   []answer
	asked []llm.Request
}

// answer is sent in chunks, and then fails or ends.
type answer struct {
	chunks []llm.Chunk
	resp   *llm.Response // nil for a response made of the chunks
	err    error
	hang   bool // until ctx is done
}

func (a *answers) runtime(models llm.Models) *llm.Runtime {
	return llm.NewRuntime(llmtest.Func(a.call), models)
}

func (a *answers) call(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
	now := a.all[min(len(a.asked), len(a.all)-1)]
	a.asked = append(a.asked, *req)
	for _, c := range now.chunks {
		if emit == nil {
			break
		}
		if err := emit(c); err != nil {
			return nil, err
		}
	}
	if now.hang {
		<-ctx.Done()
		return nil, &llm.ProviderError{Provider: "fake", Category: llm.CategoryTimeout, Retryable: true, Err: ctx.Err()}
	}
	if now.err != nil {
		return nil, now.err
	}
	if now.resp != nil {
		return now.resp, nil
	}
	return whole(now.chunks), nil
}

func whole(chunks []llm.Chunk) *llm.Response {
	r := &llm.Response{Finish: llm.FinishStop}
	for _, c := range chunks {
		r.Text += c.Text
		r.Refusal += c.Refusal
		t := c.ToolCall
		switch {
		case t == nil:
		case t.Name != "":
			r.ToolCalls = append(r.ToolCalls, llm.ToolCall{ID: t.ID, Name: t.Name, Arguments: t.Arguments})
			r.Finish = llm.FinishToolCalls
		default:
			r.ToolCalls[t.Index].Arguments += t.Arguments
		}
	}
	return r
}

// texts returns chunks of text.
func texts(all ...string) []llm.Chunk {
	chunks := make([]llm.Chunk, len(all))
	for i, s := range all {
		chunks[i].Text = s
	}
	return chunks
}

func says(all ...string) answer { return answer{chunks: texts(all...)} }

func breaks(all ...string) answer { return answer{chunks: texts(all...), err: broken()} }

func broken() *llm.ProviderError {
	return &llm.ProviderError{Provider: "fake", Category: llm.CategoryNetwork, Retryable: true, Message: "broke off"}
}

func begins(i int, id, name, arguments string) llm.Chunk {
	return llm.Chunk{ToolCall: &llm.ToolCallChunk{Index: i, ID: id, Name: name, Arguments: arguments}}
}

func continuedBy(i int, arguments string) llm.Chunk {
	return llm.Chunk{ToolCall: &llm.ToolCallChunk{Index: i, Arguments: arguments}}
}

func question(text string) *llm.Input {
	return &llm.Input{Messages: []llm.Message{{Role: llm.RoleUser, Text: text}}}
}

func prepare(t testing.TB, r *llm.Runtime, d *llm.Definition, o *llm.Options) *llm.Prepared {
	t.Helper()
	p, err := r.Prepare(t.Context(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// heard records the events at a sink.
type heard struct {
	t      testing.TB
	events []llm.Event
	text   string         // as a reader assembles it
	calls  []llm.ToolCall // as a reader assembles them
	index  int
}

func (h *heard) sink(e llm.Event) error {
	h.events = append(h.events, e)
	if e.Type != llm.EventDelta {
		return nil
	}
	if e.Restart {
		h.text, h.calls, h.index = "", nil, 0
	}
	if e.ChunkIndex != h.index {
		h.t.Errorf("chunk index %d: expected %d", e.ChunkIndex, h.index)
	}
	h.index++
	h.text += e.Delta
	switch c := e.ToolCall; {
	case c == nil:
	case c.Name != "":
		h.calls = append(h.calls, llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	default:
		h.calls[c.Index].Arguments += c.Arguments
	}
	return nil
}

// deltas returns the texts of the events, with ! before a delta that restarts the stream.
func (h *heard) deltas() []string {
	var all []string
	for _, e := range h.events {
		if e.Type != llm.EventDelta || e.ToolCall != nil {
			continue
		}
		s := e.Delta
		if e.Restart {
			s = "!" + s
		}
		all = append(all, s)
	}
	return all
}

// whole checks the order of events: start first, usage once, then an end.
func (h *heard) whole(err error) {
	h.t.Helper()
	var kinds []llm.EventType
	for _, e := range h.events {
		if e.Type != llm.EventDelta {
			kinds = append(kinds, e.Type)
		}
		if e.StreamID != h.events[0].StreamID || e.StreamID == "" || e.Provider != "fake" || e.Model == "" || e.At.IsZero() {
			h.t.Errorf("event without its base: %+v", e)
		}
	}
	want := []llm.EventType{llm.EventStart, llm.EventUsage, llm.EventComplete}
	if err != nil {
		want[2] = llm.EventError
	}
	if len(kinds) != 3 || kinds[0] != want[0] || kinds[1] != want[1] || kinds[2] != want[2] ||
		h.events[len(h.events)-1].Type != want[2] {
		h.t.Errorf("the events are %v: expected %v", kinds, want)
	}
}

func schema(s string) json.RawMessage { return json.RawMessage(s) }

func fake(f func(context.Context, *llm.Request, func(llm.Chunk) error) (*llm.Response, error)) llmtest.Func {
	return f
}
