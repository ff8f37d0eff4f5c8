package scripted_test

import (
	"context"
	"encoding/json"
	"regexp"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/llmtest"
	"github.com/parleyhub/parley/executors/llm/scripted"
)

// A script can express every answer of a vendor.
func TestConformance(t *testing.T) {
	llmtest.Conformance(t, func(t *testing.T) llmtest.Setup {
		return llmtest.Setup{Model: "vendor", NoOpaque: true, NoMalformed: true,
			Provider: func(t *testing.T, s *llmtest.Script) llm.Provider {
				p, err := scripted.New(&scripted.Options{FS: fstest.MapFS{"vendor.json": {Data: fileOf(t, s)}}})
				if err != nil {
					t.Fatal(err)
				}
				return &taking{p, s}
			}}
	})
}

// taking passes the requests of the provider to the script of the test.
type taking struct {
	*scripted.Provider
	script *llmtest.Script
}

func (p *taking) Call(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
	r := *req
	r.Messages = append([]llm.Message(nil), req.Messages...)
	for i := range r.Messages {
		r.Messages[i].Opaque = nil // scripts ignore it
	}
	body, err := json.Marshal(&r)
	if err != nil {
		return nil, err
	}
	if ctx.Err() == nil {
		if _, err := p.script.Take(string(body)); err != nil {
			return nil, err
		}
	}
	return p.Provider.Call(ctx, req, emit)
}

type object map[string]any

// fileOf returns the exchanges of a test as a script.
func fileOf(t *testing.T, s *llmtest.Script) []byte {
	t.Helper()
	var turns []object
	for i := range s.Exchanges {
		turns = append(turns, turnOf(&s.Exchanges[i]))
	}
	text, err := json.Marshal(object{"turns": turns})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func turnOf(e *llmtest.Exchange) object {
	when := object{"step": 2}
	if !e.Follows {
		when = object{"step": 1, "last": "/^" + regexp.QuoteMeta(e.Request.Messages[len(e.Request.Messages)-1].Text) + "$/"}
	}
	turn := object{"when": when}
	f := e.Fault
	if f != nil && f.Status != 0 {
		failure := object{"status": f.Status, "message": f.Message}
		if f.RetryAfter != 0 {
			failure["retry_after"] = f.RetryAfter.String()
		}
		turn["error"] = failure
		return turn
	}
	r := &e.Response
	if r.Text != "" {
		turn["text"] = r.Text
	}
	if r.Refusal != "" {
		turn["refusal"] = r.Refusal
	}
	var calls []object
	for _, c := range r.ToolCalls {
		call := object{"name": c.Name, "id": c.ID}
		if c.Arguments != "" {
			call["arguments_text"] = c.Arguments
		}
		calls = append(calls, call)
	}
	if calls != nil {
		turn["tool_calls"] = calls
	}
	turn["finish"] = r.Finish
	if u := r.Usage; u != nil {
		turn["usage"] = object{
			"prompt_tokens": u.PromptTokens, "completion_tokens": u.CompletionTokens, "cache_read_tokens": u.CacheReadTokens,
			"cache_write_tokens": u.CacheWriteTokens, "reasoning_tokens": u.ReasoningTokens,
		}
	}
	if f == nil {
		return turn
	}
	sent := 0
	for _, c := range e.Chunks[:f.AfterChunks] {
		sent += utf8.RuneCountInString(c.Text)
	}
	turn["chunk"], turn[map[bool]string{true: "break_after", false: "hang_after"}[f.Break]] = 1, sent
	return turn
}
