package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/responses"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

func (p *Provider) callResponses(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response,
	error) {
	params, err := p.responsesParams(req)
	if err != nil {
		return nil, err
	}
	var res *http.Response
	options, err := p.options(req, &res, emit != nil)
	if err != nil {
		return nil, err
	}
	if _, err := p.responses.New(ctx, *params, options...); err != nil || res == nil || res.StatusCode != http.StatusOK {
		return nil, p.server.Answered(res, err)
	}
	return p.server.Read(res, emit,
		func(emit func(llm.Chunk) error) (*llm.Response, error) { return p.streamResponses(res, req, emit) },
		func(raw []byte) (*llm.Response, error) { return p.wholeResponse(res, req, raw) })
}

// wholeResponse parses an answer that is not streamed.
func (p *Provider) wholeResponse(res *http.Response, req *llm.Request, raw []byte) (*llm.Response, error) {
	var r responses.Response
	if err := json.Unmarshal(raw, &r); err != nil {
		if e := errorOf(raw); e != nil {
			return nil, p.failed(res, e)
		}
		return nil, p.server.Malformed(res, "the answer is not JSON of the Responses API"+wire.Excerpt(raw), err)
	}
	if r.Object != "response" {
		if e := errorOf(raw); e != nil {
			return nil, p.failed(res, e)
		}
		return nil, p.server.Malformed(res, "the answer is not a response of the Responses API"+wire.Excerpt(raw), nil)
	}
	a, err := p.answerOf(res, req, &r)
	if err != nil {
		return nil, err
	}
	return a.response(), nil
}

// answer is a parsed response.
type answer struct {
	llm.Response
	own       bool // the server is OpenAI's
	refusal   strings.Builder
	reasoning strings.Builder
	text      texts
	items     []json.RawMessage
	unread    bool // an item that only the vendor can read
}

// texts joins the texts of messages, with an empty line between messages. addText returns the text
// to emit.
type texts struct {
	strings.Builder
	place int // index of the message of the last piece
}

func (t *texts) addText(place int, piece string) string {
	if piece == "" {
		return ""
	}
	if t.Len() > 0 && place != t.place {
		piece = "\n\n" + piece
	}
	t.place = place
	t.WriteString(piece)
	return piece
}

// isCommentary reports whether a message is commentary. It is not part of an answer that must match
// a schema.
func isCommentary(req *llm.Request, phase responses.ResponseOutputMessagePhase) bool {
	return req.Output != nil && phase == responses.ResponseOutputMessagePhaseCommentary
}

// answerOf converts a complete response.
func (p *Provider) answerOf(res *http.Response, req *llm.Request, r *responses.Response) (*answer, error) {
	failed := r.Status == responses.ResponseStatusFailed || r.Status == responses.ResponseStatusCancelled
	if !failed && (r.Object != "" && r.Object != "response" || len(r.Output) == 0 && !r.JSON.Output.Valid()) {
		return nil, p.server.Malformed(res, "the answer is not a response of the Responses API", nil)
	}
	a := &answer{own: p.own}
	a.Model, a.Metadata, a.Usage = r.Model, p.server.Metadata(res, r.ID), responsesUsage(r)
	for i := range r.Output {
		a.addItem(req, i, &r.Output[i])
	}
	switch r.Status {
	case responses.ResponseStatusCompleted, "":
		a.Finish = llm.FinishStop
		if len(a.ToolCalls) > 0 {
			a.Finish = llm.FinishToolCalls
		}
	case responses.ResponseStatusIncomplete:
		a.Finish = incomplete(r.IncompleteDetails.Reason)
	case responses.ResponseStatusFailed, responses.ResponseStatusCancelled:
		e := &vendorError{Code: string(r.Error.Code), Type: r.Error.Type,
			Message: cmp.Or(r.Error.Message, "the response is "+string(r.Status))}
		return nil, wire.WithUsage(p.failed(res, e), a.Usage)
	default:
		return nil, p.server.Malformed(res, "the response is incomplete", nil)
	}
	if a.refusal.Len() > 0 {
		a.Finish = llm.FinishRefusal
	}
	if a.Finish == llm.FinishRefusal && a.refusal.Len() == 0 {
		a.refusal.WriteString(filtered)
	}
	if a.unread || p.thinks(req) && wire.Thinks(a.text.String()) {
		data, err := json.Marshal(opaque{API: llm.APIResponses, Items: a.items})
		if err != nil {
			return nil, p.server.Malformed(res, "the output is not JSON", err)
		}
		a.Opaque = &llm.Opaque{Provider: p.server.Name, Data: data}
	}
	return a, nil
}

// filtered is the refusal text if the vendor sends none.
const filtered = "A filter of the vendor withheld the answer."

func incomplete(reason string) llm.FinishReason {
	switch reason {
	case "max_output_tokens":
		return llm.FinishLength
	case "content_filter":
		return llm.FinishRefusal
	}
	return llm.FinishOther
}

// The members of items that the other fields of a message have.
var (
	messageItem = []string{"type", "id", "status", "role", "content"}
	callItem    = []string{"type", "id", "status", "call_id", "name", "arguments"}
)

func (a *answer) addItem(req *llm.Request, place int, item *responses.ResponseOutputItemUnion) {
	raw := json.RawMessage(item.RawJSON())
	switch item.Type {
	case "message":
		a.unread = a.unread || wire.HasOther(raw, messageItem)
		for _, c := range item.Content {
			switch {
			case c.Type == "refusal":
				a.refusal.WriteString(c.Refusal)
			case c.Type == "output_text" && !isCommentary(req, item.Phase):
				a.text.addText(place, c.Text)
			}
		}
	case "function_call":
		a.unread = a.unread || wire.HasOther(raw, callItem)
		a.ToolCalls = append(a.ToolCalls,
			llm.ToolCall{ID: item.CallID, Name: item.Name, Arguments: itemArguments(raw)})
	case "reasoning":
		members := wire.Members(raw)
		for _, name := range []string{"summary", "content"} {
			if text := partText(members[name]); text != "" {
				a.reasoning.WriteString(text)
				break
			}
		}
		// OpenAI stores nothing, so it could not use the id of the thought.
		if item.EncryptedContent == "" && (a.own || len(item.Content) == 0) {
			return
		}
		a.unread = true
	default:
		a.unread = true
	}
	a.items = append(a.items, raw)
}

// itemArguments returns the arguments of a call. Some servers send an object instead of a text.
func itemArguments(item json.RawMessage) string { return argumentsOf(wire.Members(item)) }

// response returns the Response.
func (a *answer) response() *llm.Response {
	r := a.Response
	r.Text, r.Refusal, r.Reasoning = a.text.String(), a.refusal.String(), a.reasoning.String()
	return &r
}

func responsesUsage(r *responses.Response) *llm.Usage {
	if !r.JSON.Usage.Valid() {
		return nil
	}
	u := r.Usage
	return &llm.Usage{
		PromptTokens: u.InputTokens, CompletionTokens: u.OutputTokens, TotalTokens: u.InputTokens + u.OutputTokens,
		CacheReadTokens: u.InputTokensDetails.CachedTokens, CacheWriteTokens: u.InputTokensDetails.CacheWriteTokens,
		ReasoningTokens: u.OutputTokensDetails.ReasoningTokens,
	}
}
