package anthropic

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/parleyhub/parley/executors/llm"
)

// whole parses an answer that is not streamed.
func (p *Provider) whole(res *http.Response, raw []byte) (*llm.Response, error) {
	var m anthropic.Message
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, p.server.Malformed(res, "the answer is not JSON of the Messages API", err)
	}
	if m.Type != "message" {
		var e vendorError
		if json.Unmarshal(raw, &e) == nil && e.Type == "error" {
			return nil, p.failed(res, &e)
		}
		return nil, p.server.Malformed(res, "the answer is not a message", nil)
	}
	return p.response(res, &m)
}

// response converts a complete message.
func (p *Provider) response(res *http.Response, m *anthropic.Message) (*llm.Response, error) {
	r := &llm.Response{Model: m.Model, Finish: finish(m.StopReason), Usage: usage(&m.Usage),
		Metadata: p.server.Metadata(res, m.ID)}
	if !m.JSON.Usage.Valid() && r.Usage.TotalTokens == 0 { // a stream may report usage only at its end
		r.Usage = nil
	}
	var text strings.Builder
	var blocks []json.RawMessage
	unread := false // a block that only the vendor can read
	for i := range m.Content {
		b := &m.Content[i]
		blocks = append(blocks, json.RawMessage(b.RawJSON()))
		switch b.Type {
		case "text":
			text.WriteString(b.Text)
		case "tool_use":
			r.ToolCalls = append(r.ToolCalls, llm.ToolCall{ID: b.ID, Name: b.Name, Arguments: cmp.Or(string(b.Input), "{}")})
		default:
			unread = true
		}
	}
	r.Text = text.String()
	if r.Finish == llm.FinishRefusal {
		r.Refusal = cmp.Or(m.StopDetails.Explanation, refusedText)
	}
	if unread {
		data, err := json.Marshal(blocks)
		if err != nil {
			return nil, p.server.Malformed(res, "the content is not JSON", err)
		}
		r.Opaque = &llm.Opaque{Provider: p.server.Name, Data: data}
	}
	return r, nil
}

// refusedText is the refusal text if the vendor sends none.
const refusedText = "The model refused to answer."

func finish(reason anthropic.StopReason) llm.FinishReason {
	switch reason {
	case anthropic.StopReasonEndTurn, anthropic.StopReasonStopSequence:
		return llm.FinishStop
	case anthropic.StopReasonToolUse:
		return llm.FinishToolCalls
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		return llm.FinishLength
	case anthropic.StopReasonRefusal:
		return llm.FinishRefusal
	}
	return llm.FinishOther
}

// usage converts the usage. The vendor counts cached tokens separately, so they are added to the
// prompt.
func usage(u *anthropic.Usage) *llm.Usage {
	prompt := u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens
	return &llm.Usage{
		PromptTokens: prompt, CompletionTokens: u.OutputTokens, TotalTokens: prompt + u.OutputTokens,
		CacheReadTokens: u.CacheReadInputTokens, CacheWriteTokens: u.CacheCreationInputTokens,
		ReasoningTokens: u.OutputTokensDetails.ThinkingTokens,
	}
}
