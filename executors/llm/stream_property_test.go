package llm_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/parleyhub/parley/executors/llm"
)

// TestStreamsOfAnyRetries has random streams of texts and calls that break at any point, sometimes
// with another text in the retry. A reader must end with the content of the result. A restart must
// only occur if the text changed.
func TestStreamsOfAnyRetries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		final := stream(t, "final")
		var all []answer
		prefixes := true
		for range rapid.IntRange(0, 4).Draw(t, "retries") {
			said := final
			if rapid.IntRange(0, 3).Draw(t, "other") == 0 {
				said, prefixes = stream(t, "other"), false
			}
			chunks := pieces(t, said)
			all = append(all, answer{chunks: chunks[:rapid.IntRange(0, len(chunks)).Draw(t, "cut")], err: broken()})
		}
		all = append(all, answer{chunks: pieces(t, final)})
		a := &answers{all: all}
		r := a.runtime(nil)
		every := rapid.SampledFrom([]time.Duration{0, time.Hour, time.Microsecond}).Draw(t, "every")
		p, err := r.Prepare(t.Context(), &llm.Definition{Model: "m"}, &llm.Options{
			MaxRetries: 9, Retry: llm.Retry{Min: 1, Max: 1}, Streaming: llm.StreamingOptions{Every: every},
		})
		if err != nil {
			t.Fatal(err)
		}
		text, index, restarts := "", 0, 0
		var calls []llm.ToolCall
		got, err := r.RunStream(t.Context(), p, question("hi"), func(e llm.Event) error {
			if e.Type != llm.EventDelta {
				return nil
			}
			if e.Restart {
				text, calls, index = "", nil, 0
				restarts++
			}
			if e.ChunkIndex != index {
				t.Fatalf("chunk index %d: expected %d", e.ChunkIndex, index)
			}
			index++
			text += e.Delta
			switch c := e.ToolCall; {
			case c == nil:
			case c.Name != "":
				calls = append(calls, llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
			default:
				calls[c.Index].Arguments += c.Arguments
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if text != got.Content || js(calls) != js(got.ToolCalls) {
			t.Fatalf("the deltas say %q and %v, and the result %q and %v", text, calls, got.Content, got.ToolCalls)
		}
		if prefixes && restarts > 0 {
			t.Fatalf("%d restarts without a change of the text", restarts)
		}
	})
}

// stream returns a text and some calls, one chunk each.
func stream(t *rapid.T, label string) []llm.Chunk {
	chunks := texts(rapid.StringMatching(`[ab]{0,12}`).Draw(t, label))
	for i := range rapid.IntRange(0, 3).Draw(t, label+" calls") {
		chunks = append(chunks,
			begins(i, rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, label+" id"), "look",
				rapid.StringMatching(`[ab]{0,6}`).Draw(t, label+" arguments")))
	}
	return chunks
}

// pieces splits chunks at random points.
func pieces(t *rapid.T, of []llm.Chunk) []llm.Chunk {
	var all []llm.Chunk
	for _, c := range of {
		body := c.Text
		if c.ToolCall != nil {
			body = c.ToolCall.Arguments
			all = append(all, begins(c.ToolCall.Index, c.ToolCall.ID, c.ToolCall.Name, ""))
		}
		for body != "" {
			n := rapid.IntRange(1, len(body)).Draw(t, "piece")
			piece := llm.Chunk{Text: strings.Clone(body[:n])}
			if c.ToolCall != nil {
				piece = continuedBy(c.ToolCall.Index, body[:n])
			}
			all, body = append(all, piece), body[n:]
		}
	}
	return all
}
