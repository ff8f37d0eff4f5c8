package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/responses"

	"github.com/parleyhub/parley/executors/llm"
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
		return nil, p.server.Answered(res, err, told)
	}
	if emit != nil {
		return p.streamResponses(res, req, emit)
	}
	raw, err := p.server.Whole(res)
	if err != nil {
		return nil, err
	}
	return p.wholeResponse(res, req, raw)
}

// wholeResponse reads an answer that is not streamed.
func (p *Provider) wholeResponse(res *http.Response, req *llm.Request, raw []byte) (*llm.Response, error) {
	var r responses.Response
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, p.server.Malformed(res, "the answer is no JSON of the Responses API", err)
	}
	if e := errorOf(raw); e != nil && r.Object != "response" {
		return nil, p.failed(res, e)
	}
	a, err := p.answerOf(res, req, &r)
	if err != nil {
		return nil, err
	}
	return a.response(), nil
}

// answer is what a response says, with the place in the output of each of its calls.
type answer struct {
	llm.Response
	refusal strings.Builder
	text    texts
	places  []int
	items   []json.RawMessage
	unread  bool // there is something that only the vendor reads
}

// texts puts the texts of messages together, with an empty line between messages. It gives each piece back as it has to be told.
type texts struct {
	strings.Builder
	place int // of the message that the last piece was of
}

func (t *texts) add(place int, piece string) string {
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

// aside reports whether a message is talk on the way to an answer, which is none of it where the answer has to match a schema.
func aside(req *llm.Request, phase responses.ResponseOutputMessagePhase) bool {
	return req.Output != nil && phase == responses.ResponseOutputMessagePhaseCommentary
}

// answerOf reads a response that has ended.
func (p *Provider) answerOf(res *http.Response, req *llm.Request, r *responses.Response) (*answer, error) {
	if r.Object != "response" || len(r.Output) == 0 && !r.JSON.Output.Valid() {
		return nil, p.server.Malformed(res, "the answer is no response of the Responses API", nil)
	}
	a := &answer{}
	a.Model, a.Metadata, a.Usage = r.Model, p.server.Metadata(res, r.ID), responsesUsage(r)
	for i := range r.Output {
		a.add(req, i, &r.Output[i])
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
		return nil, p.failed(
			res, &vendorError{Code: string(r.Error.Code), Type: r.Error.Type,
				Message: cmp.Or(r.Error.Message, "the response has "+string(r.Status))})
	default:
		return nil, p.server.Malformed(res, "the response has not ended", nil)
	}
	if a.refusal.Len() > 0 {
		a.Finish = llm.FinishRefusal
	}
	if a.Finish == llm.FinishRefusal && a.refusal.Len() == 0 {
		a.refusal.WriteString(filtered)
	}
	if a.unread {
		data, err := json.Marshal(opaque{API: llm.APIResponses, Items: a.items})
		if err != nil {
			return nil, p.server.Malformed(res, "the output is no JSON", err)
		}
		a.Opaque = &llm.Opaque{Provider: p.server.Name, Data: data}
	}
	return a, nil
}

// filtered are the words of a refusal that has none of its own.
const filtered = "The answer was withheld by a filter of the vendor."

func incomplete(reason string) llm.FinishReason {
	switch reason {
	case "max_output_tokens":
		return llm.FinishLength
	case "content_filter":
		return llm.FinishRefusal
	}
	return llm.FinishOther
}

func (a *answer) add(req *llm.Request, place int, item *responses.ResponseOutputItemUnion) {
	raw := json.RawMessage(item.RawJSON())
	switch item.Type {
	case "message":
		a.unread = a.unread || item.Phase != ""
		for _, c := range item.Content {
			switch {
			case c.Type == "refusal":
				a.refusal.WriteString(c.Refusal)
			case c.Type == "output_text" && !aside(req, item.Phase):
				a.text.add(place, c.Text)
			}
		}
	case "function_call":
		a.ToolCalls = append(a.ToolCalls, llm.ToolCall{ID: item.CallID, Name: item.Name, Arguments: item.Arguments.OfString})
		a.places = append(a.places, place)
	case "reasoning":
		if item.EncryptedContent == "" { // the vendor keeps nothing, so it could not find the thought again
			return
		}
		a.unread = true
	default:
		a.unread = true
	}
	a.items = append(a.items, raw)
}

// response is what is handed out.
func (a *answer) response() *llm.Response {
	r := a.Response
	r.Text, r.Refusal = a.text.String(), a.refusal.String()
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
