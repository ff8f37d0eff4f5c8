package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/parleyhub/parley/executors/llm"
)

// chatStream parses the events of a chat completion.
type chatStream struct {
	p    *Provider
	res  *http.Response
	emit func(llm.Chunk) error

	id, model     string
	said          bool // a choice was received
	text, refusal strings.Builder
	calls         pieces
	unnamed       map[int]*pending // calls without a name so far
	usage         *llm.Usage
	reason        string
}

func (p *Provider) streamChat(res *http.Response, emit func(llm.Chunk) error) (*llm.Response, error) {
	defer res.Body.Close()
	if err := p.server.IsStream(res); err != nil {
		return nil, err
	}
	s := &chatStream{p: p, res: res, emit: emit, calls: pieces{emit: emit}, unnamed: map[int]*pending{}}
	d := ssestream.NewDecoder(res)
	for d.Next() {
		data := bytes.TrimSpace(d.Event().Data)
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			return s.end()
		}
		if len(data) == 0 {
			continue
		}
		if err := s.event(data); err != nil {
			return nil, err
		}
	}
	if d.Err() == nil && s.reason != "" { // some servers end without [DONE]
		return s.end()
	}
	return nil, p.server.Cut(res, d.Err())
}

func (s *chatStream) event(data []byte) error {
	var c openai.ChatCompletionChunk
	if err := json.Unmarshal(data, &c); err != nil {
		return s.p.server.Malformed(s.res, "an event of the stream is not JSON of chat completions", err)
	}
	if e := errorOf(data); e != nil {
		return s.p.failed(s.res, e)
	}
	s.id, s.model = cmp.Or(c.ID, s.id), cmp.Or(c.Model, s.model)
	if c.JSON.Usage.Valid() {
		s.usage = chatUsage(&c.Usage)
	}
	for i := range c.Choices {
		if c.Choices[i].Index == 0 {
			return s.choice(&c.Choices[i])
		}
	}
	return nil
}

func (s *chatStream) choice(c *openai.ChatCompletionChunkChoice) error {
	s.said = true
	s.reason = cmp.Or(c.FinishReason, s.reason)
	if d := c.Delta.Content; d != "" {
		s.text.WriteString(d)
		if err := s.emit(llm.Chunk{Text: d}); err != nil {
			return err
		}
	}
	if d := c.Delta.Refusal; d != "" {
		s.refusal.WriteString(d)
		if err := s.emit(llm.Chunk{Refusal: d}); err != nil {
			return err
		}
	}
	for i := range c.Delta.ToolCalls {
		if err := s.call(&c.Delta.ToolCalls[i]); err != nil {
			return err
		}
	}
	return nil
}

// call handles a delta of a call. A new index starts a call. Some servers use the same index for
// all calls, so a new id starts one too.
func (s *chatStream) call(c *openai.ChatCompletionChunkChoiceDeltaToolCall) error {
	place := int(c.Index)
	if i, ok := s.calls.places[place]; ok && c.ID != "" && c.Function.Name != "" && c.ID != s.calls.calls[i].id {
		delete(s.calls.places, place)
	}
	if _, ok := s.calls.places[place]; ok {
		return s.calls.piece(place, c.Function.Arguments)
	}
	u := s.unnamed[place]
	if u == nil {
		u = &pending{}
		s.unnamed[place] = u
	}
	u.id = cmp.Or(c.ID, u.id)
	u.args.WriteString(c.Function.Arguments)
	if c.Function.Name == "" {
		return nil
	}
	delete(s.unnamed, place)
	return s.calls.whole(place, llm.ToolCall{ID: u.id, Name: c.Function.Name, Arguments: u.args.String()})
}

func (s *chatStream) end() (*llm.Response, error) {
	if !s.said {
		return nil, s.p.server.Malformed(s.res, "the stream has no choice", nil)
	}
	if len(s.unnamed) > 0 {
		return nil, s.p.server.Malformed(s.res, "the stream has a tool call without a name", nil)
	}
	r := &llm.Response{
		Text: s.text.String(), Refusal: s.refusal.String(), ToolCalls: s.calls.all(),
		Usage: s.usage, Model: s.model, Metadata: s.p.server.Metadata(s.res, s.id),
	}
	finish(r, s.reason)
	if r.Refusal != "" && s.refusal.Len() == 0 {
		if err := s.emit(llm.Chunk{Refusal: r.Refusal}); err != nil {
			return nil, err
		}
	}
	return r, nil
}
