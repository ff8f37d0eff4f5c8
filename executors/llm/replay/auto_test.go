package replay_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/llmtest"
	"github.com/parleyhub/parley/executors/llm/replay"
)

// Auto repeats an exchange that failed or was canceled. Play replays the failure.
func TestAutoForgetsFailures(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	for name, fail := range map[string]func() error{
		"refused": func() error {
			return &llm.ProviderError{Provider: "fake", Category: llm.CategoryAuthentication, Status: 401}
		},
		"ended": func() error { cancel(); return canceled.Err() },
	} {
		path, calls := filepath.Join(t.TempDir(), "run.jsonl"), 0
		vendor := llmtest.Func(func(context.Context, *llm.Request, func(llm.Chunk) error) (*llm.Response, error) {
			if calls++; calls == 1 {
				return nil, fail()
			}
			return &llm.Response{Text: "ok", Finish: llm.FinishStop}, nil
		})
		for i := range 3 {
			ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
			if i == 0 && name == "ended" {
				ctx = canceled
			}
			c := open(t, path, &replay.Options{Mode: replay.Auto})
			_, err := c.Provider(vendor).Call(ctx, ask("hi"), nil)
			stop()
			if (err != nil) != (i == 0) {
				t.Errorf("%s: call %d: %v", name, i+1, err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if calls != 2 {
			t.Errorf("%s: %d calls of the vendor", name, calls)
		}
	}
}

// A secret that is split over chunks does not get into the cassette, in complete and in broken
// answers.
func TestSecretsInPieces(t *testing.T) {
	for _, end := range []error{nil, errors.New("broke off")} {
		path := filepath.Join(t.TempDir(), "run.jsonl")
		c := open(t, path, &replay.Options{Mode: replay.Record, Secrets: []string{"sk-secret"}})
		p := c.Provider(
			llmtest.Func(func(_ context.Context, _ *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
				pieces := []llm.Chunk{
					{Reasoning: "I know sk-s"}, {Reasoning: "ecret."},
					{Text: "It is sk-s"}, {ToolCall: &llm.ToolCallChunk{ID: "a", Name: "look"}},
					{ToolCall: &llm.ToolCallChunk{Arguments: `{"x":"sk-`}},
					{Text: "ecret."}, {ToolCall: &llm.ToolCallChunk{Arguments: `secret"}`}},
				}
				for _, piece := range pieces {
					if err := emit(piece); err != nil {
						return nil, err
					}
				}
				if end != nil {
					return nil, end
				}
				return &llm.Response{Text: "It is sk-secret.", Finish: llm.FinishStop}, nil
			}))
		_, err := p.Call(t.Context(), ask("hi"), func(llm.Chunk) error { return nil })
		if !errors.Is(err, end) {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(path)
		if err != nil || bytes.Contains(raw, []byte("ecret.")) || bytes.Contains(raw, []byte("sk-")) {
			t.Errorf("%v: %s", err, raw)
		}
		var text, reasoning, arguments string
		_, _ = open(t, path, nil).Player("fake").Call(t.Context(), ask("hi"), func(c llm.Chunk) error {
			text, reasoning = text+c.Text, reasoning+c.Reasoning
			if c.ToolCall != nil {
				arguments += c.ToolCall.Arguments
			}
			return nil
		})
		if text != "It is [secret]." || reasoning != "I know [secret]." || arguments != `{"x":"[secret]"}` {
			t.Errorf("played %q, %q and %q", text, reasoning, arguments)
		}
	}
}
