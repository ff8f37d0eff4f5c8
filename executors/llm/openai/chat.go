package openai

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/openai/openai-go/v3"

	"github.com/parleyhub/parley/executors/llm"
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
		return nil, p.server.Answered(res, err, readError)
	}
	if emit != nil {
		return p.streamChat(res, emit)
	}
	raw, err := p.server.Whole(res)
	if err != nil {
		return nil, err
	}
	return p.wholeChat(res, raw)
}

// wholeChat parses an answer that is not streamed.
func (p *Provider) wholeChat(res *http.Response, raw []byte) (*llm.Response, error) {
	var c openai.ChatCompletion
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, p.server.Malformed(res, "the answer is not JSON of chat completions", err)
	}
	if len(c.Choices) == 0 {
		if e := errorOf(raw); e != nil {
			return nil, p.failed(res, e)
		}
		return nil, p.server.Malformed(res, "the answer has no choice", nil)
	}
	said := &c.Choices[0].Message
	r := &llm.Response{Text: said.Content, Refusal: said.Refusal, Model: c.Model, Metadata: p.server.Metadata(res, c.ID)}
	if c.JSON.Usage.Valid() {
		r.Usage = chatUsage(&c.Usage)
	}
	for _, t := range said.ToolCalls {
		r.ToolCalls = append(r.ToolCalls, llm.ToolCall{ID: t.ID, Name: t.Function.Name, Arguments: t.Function.Arguments})
	}
	finish(r, c.Choices[0].FinishReason)
	return r, nil
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

func chatUsage(u *openai.CompletionUsage) *llm.Usage {
	return &llm.Usage{
		PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.PromptTokens + u.CompletionTokens,
		CacheReadTokens: u.PromptTokensDetails.CachedTokens, CacheWriteTokens: u.PromptTokensDetails.CacheWriteTokens,
		ReasoningTokens: u.CompletionTokensDetails.ReasoningTokens,
	}
}
