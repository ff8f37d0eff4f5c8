package anthropic

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

// whole parses an answer that is not streamed.
func (p *Provider) whole(res *http.Response, req *llm.Request, raw []byte) (*llm.Response, error) {
	m := wire.Members(raw)
	if wire.Text(m["type"]) != "message" {
		if e := wire.ErrorIn(raw); e != nil {
			return nil, p.failed(res, e)
		}
		return nil, p.server.Malformed(res, "the answer is not a message of the Messages API"+wire.Excerpt(raw), nil)
	}
	a := p.newAnswer(req)
	for _, block := range contentOf(m["content"]) {
		a.addBlock(block, "")
	}
	return a.response(res, raw)
}

// contentOf returns the blocks of a content. Some servers send a text instead of a list.
func contentOf(raw json.RawMessage) (blocks []json.RawMessage) {
	if text := wire.Text(raw); text != "" {
		block, _ := json.Marshal(map[string]string{"type": "text", "text": text}) // encoding strings cannot fail
		return []json.RawMessage{block}
	}
	_ = json.Unmarshal(raw, &blocks) // other values have no blocks
	return blocks
}

// answer is the content of a message.
type answer struct {
	p               *Provider
	thinks          bool
	text, reasoning strings.Builder
	calls           []llm.ToolCall
	blocks          []json.RawMessage
	unread          bool // a block that only the vendor can read
}

func (p *Provider) newAnswer(req *llm.Request) *answer { return &answer{p: p, thinks: p.thinks(req)} }

// The members of blocks that the other fields of a message have.
var (
	textBlock = []string{"type", "text"}
	callBlock = []string{"type", "id", "name", "input"}
)

// addBlock adds a block. input is the streamed input of a call. It may be empty, or JSON that was
// cut off.
func (a *answer) addBlock(raw json.RawMessage, input string) {
	b := wire.Members(raw)
	if b == nil {
		return
	}
	kind := wire.Text(b["type"])
	switch kind {
	case "text":
		a.text.WriteString(wire.Text(b["text"]))
		a.unread = a.unread || wire.HasOther(raw, textBlock)
	case "tool_use":
		written := cmp.Or(input, inputOf(b))
		a.calls = append(a.calls, llm.ToolCall{ID: wire.Text(b["id"]), Name: wire.Text(b["name"]), Arguments: written})
		a.unread = a.unread || wire.HasOther(raw, callBlock)
	default:
		if kind == "thinking" {
			a.reasoning.WriteString(wire.Text(b["thinking"]))
		}
		a.unread = true
	}
	if input != "" {
		b["input"] = wire.Arguments(input)
		raw, _ = json.Marshal(b) // the members are JSON
	}
	a.blocks = append(a.blocks, raw)
}

// inputOf returns the input of a call as the text of its arguments.
func inputOf(b map[string]json.RawMessage) string {
	if text := wire.Text(b["input"]); text != "" { // some servers send a text
		return text
	}
	if input := string(b["input"]); input != "null" && input != `""` {
		return cmp.Or(input, "{}")
	}
	return "{}"
}

// response converts a complete message.
func (a *answer) response(res *http.Response, raw json.RawMessage) (*llm.Response, error) {
	m := wire.Members(raw)
	stop := wire.Members(m["stop_details"])
	r := &llm.Response{Text: a.text.String(), Reasoning: a.reasoning.String(), ToolCalls: a.calls,
		Model: wire.Text(m["model"]), Finish: finish(anthropic.StopReason(wire.Text(m["stop_reason"]))),
		Usage: usage(m["usage"]), Metadata: a.p.server.Metadata(res, wire.Text(m["id"]))}
	switch {
	case r.Finish == llm.FinishRefusal:
		r.Refusal = cmp.Or(wire.Text(stop["explanation"]), refusedText)
	case len(r.ToolCalls) > 0 && (r.Finish == llm.FinishStop || r.Finish == finishPause): // some servers report end_turn
		r.Finish = llm.FinishToolCalls
	}
	if a.unread || r.Finish == finishPause || a.thinks && wire.Thinks(r.Text) {
		data, err := json.Marshal(a.blocks)
		if err != nil {
			return nil, a.p.server.Malformed(res, "the content is not JSON", err)
		}
		r.Opaque = &llm.Opaque{Provider: a.p.server.Name, Data: data}
	}
	return r, nil
}

// refusedText is the refusal text if the vendor sends none.
const refusedText = "The model refused to answer."

// finishPause means that the vendor paused a long turn. It never leaves this package.
const finishPause llm.FinishReason = "pause"

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
	case anthropic.StopReasonPauseTurn:
		return finishPause
	}
	return llm.FinishOther
}

// usage converts the usage, or returns nil without one. The vendor counts cached tokens
// separately, so they are added to the prompt.
func usage(raw json.RawMessage) *llm.Usage {
	var u anthropic.Usage
	if len(wire.Members(raw)) == 0 || json.Unmarshal(raw, &u) != nil {
		return nil
	}
	prompt := u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens
	return &llm.Usage{
		PromptTokens: prompt, CompletionTokens: u.OutputTokens, TotalTokens: prompt + u.OutputTokens,
		CacheReadTokens: u.CacheReadInputTokens, CacheWriteTokens: u.CacheCreationInputTokens,
		ReasoningTokens: u.OutputTokensDetails.ThinkingTokens,
	}
}
