package openai

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/openai/openai-go/v3"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

func (p *Provider) callChat(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
	params, err := p.chatParams(req, emit != nil)
	if err != nil {
		return nil, err
	}
	var res *http.Response
	options, err := p.options(req, &res, emit != nil)
	if err != nil {
		return nil, err
	}
	if _, err := p.chat.New(ctx, *params, options...); err != nil || res == nil || res.StatusCode != http.StatusOK {
		return nil, p.server.Answered(res, err)
	}
	return p.server.Read(res, emit,
		func(emit func(llm.Chunk) error) (*llm.Response, error) { return p.streamChat(res, req, emit) },
		func(raw []byte) (*llm.Response, error) { return p.wholeChat(res, req, raw) })
}

// chatAnswer is an answer, or an event of a stream. The members are decoded one by one, because
// servers differ in their types.
type chatAnswer struct {
	ID      json.RawMessage `json:"id"`
	Model   json.RawMessage `json:"model"`
	Choices []chatChoice    `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
}

type chatChoice struct {
	Index        json.RawMessage `json:"index"`
	Message      json.RawMessage `json:"message"`
	Delta        json.RawMessage `json:"delta"`
	FinishReason json.RawMessage `json:"finish_reason"`
	// Usage is here in the streams of some servers.
	Usage json.RawMessage `json:"usage"`
}

// wholeChat parses an answer that is not streamed.
func (p *Provider) wholeChat(res *http.Response, req *llm.Request, raw []byte) (*llm.Response, error) {
	if e := errorOf(raw); e != nil {
		return nil, p.failed(res, e)
	}
	var c chatAnswer
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, p.server.Malformed(res, "the answer is not JSON of chat completions"+wire.Excerpt(raw), err)
	}
	if len(c.Choices) == 0 {
		return nil, p.server.Malformed(res, "the answer has no choice"+wire.Excerpt(raw), nil)
	}
	s := p.newChatStream(res, req, func(llm.Chunk) error { return nil })
	c.Choices = c.Choices[:1]
	c.Choices[0].Index = nil
	if err := s.answer(&c); err != nil {
		return nil, err
	}
	return s.end()
}

// finish sets the finish reason. With tool calls, servers differ between stop and tool_calls, so
// the calls determine it.
func finish(r *llm.Response, reason string) {
	switch reason {
	case "stop", "tool_calls", "function_call", "":
		r.Finish = llm.FinishStop
		if len(r.ToolCalls) > 0 {
			r.Finish = llm.FinishToolCalls
		}
	case "length":
		r.Finish = llm.FinishLength
	case "content_filter":
		r.Finish = llm.FinishRefusal
	default:
		r.Finish = llm.FinishOther
	}
	if r.Refusal != "" {
		r.Finish = llm.FinishRefusal
	}
	if r.Finish == llm.FinishRefusal && r.Refusal == "" {
		r.Refusal = filtered
	}
}

// chatUsage returns the usage of an answer, or nil if it has none.
func chatUsage(raw json.RawMessage) *llm.Usage {
	var u openai.CompletionUsage
	if wire.Members(raw) == nil || json.Unmarshal(raw, &u) != nil {
		return nil
	}
	return &llm.Usage{
		PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.PromptTokens + u.CompletionTokens,
		CacheReadTokens: u.PromptTokensDetails.CachedTokens, CacheWriteTokens: u.PromptTokensDetails.CacheWriteTokens,
		ReasoningTokens: u.CompletionTokensDetails.ReasoningTokens,
	}
}
