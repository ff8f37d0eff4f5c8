package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/parleyhub/parley/executors/llm"
)

// stream parses the events of a message.
type stream struct {
	p    *Provider
	res  *http.Response
	emit func(llm.Chunk) error

	message anthropic.Message
	blocks  map[int]*block
	calls   []*block
}

// block is a started block of the message. It collects the deltas, because the SDK would copy the
// whole text for each.
type block struct {
	kind  string
	text  strings.Builder // a text, or the arguments of a call
	call  int             // index of the call, or -1
	ended bool
}

func (p *Provider) stream(res *http.Response, emit func(llm.Chunk) error) (*llm.Response, error) {
	defer res.Body.Close()
	if err := p.server.IsStream(res); err != nil {
		return nil, err
	}
	s := &stream{p: p, res: res, emit: emit, blocks: map[int]*block{}}
	d := ssestream.NewDecoder(res)
	for d.Next() {
		e := d.Event()
		if len(bytes.TrimSpace(e.Data)) == 0 {
			continue
		}
		r, err := s.event(e.Data)
		if r != nil || err != nil {
			return r, err
		}
	}
	return nil, p.server.Cut(res, d.Err())
}

// event handles one event. It returns the Response after the last one.
func (s *stream) event(data []byte) (*llm.Response, error) {
	var e anthropic.MessageStreamEventUnion
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, s.malformed("an event of the stream is not JSON of the Messages API", err)
	}
	begun := s.message.Type == "message"
	switch e.Type {
	case "message_start":
		if begun || e.Message.Type != "message" || len(e.Message.Content) > 0 {
			return nil, s.malformed("the stream does not start with one message", nil)
		}
		s.message = e.Message
		return nil, nil
	case "message_delta", "content_block_start", "content_block_delta", "content_block_stop", "message_stop":
		if !begun {
			return nil, s.malformed("the stream does not start with a message", nil)
		}
		return s.part(&e)
	case "error":
		var reported vendorError
		if err := json.Unmarshal(data, &reported); err != nil {
			return nil, s.malformed("an error of the stream is not JSON of the Messages API", err)
		}
		return nil, s.p.failed(s.res, &reported)
	}
	return nil, nil
}

func (s *stream) malformed(message string, err error) error {
	return s.p.server.Malformed(s.res, message, err)
}

// part handles an event of the message.
func (s *stream) part(e *anthropic.MessageStreamEventUnion) (*llm.Response, error) {
	place := int(e.Index)
	b := s.blocks[place]
	if e.Type == "content_block_delta" {
		switch kind := e.Delta.Type; {
		case b == nil, kind == "text_delta" && b.kind != "text", kind == "input_json_delta" && b.kind == "text":
			return nil, s.malformed("a delta of the stream belongs to no started block", nil)
		case kind == "text_delta":
			return nil, s.emitText(b, e.Delta.Text)
		case kind == "input_json_delta":
			return nil, s.emitArguments(b, e.Delta.PartialJSON)
		}
	}
	for i := range s.message.Content {
		if e.Type != "message_stop" && (e.Type != "content_block_stop" || i != place) {
			continue
		}
		if err := s.finishBlock(i, s.blocks[i]); err != nil {
			return nil, err
		}
	}
	if err := s.message.Accumulate(*e); err != nil {
		return nil, s.malformed("the events of the stream are inconsistent", err)
	}
	switch e.Type {
	case "content_block_start":
		return nil, s.startBlock(place, &e.ContentBlock)
	case "message_stop":
		return s.end()
	}
	return nil, nil
}

func (s *stream) startBlock(place int, c *anthropic.ContentBlockStartEventContentBlockUnion) error {
	b := &block{kind: c.Type, call: -1}
	s.blocks[place] = b
	switch c.Type {
	case "text":
		return s.emitText(b, c.Text)
	case "tool_use":
		b.call = len(s.calls)
		s.calls = append(s.calls, b)
		return s.emit(llm.Chunk{ToolCall: &llm.ToolCallChunk{Index: b.call, ID: c.ID, Name: c.Name}})
	}
	return nil
}

// finishBlock completes a block. Arguments without deltas are in its start, or are empty.
func (s *stream) finishBlock(place int, b *block) error {
	if b.ended {
		return nil
	}
	b.ended = true
	c := &s.message.Content[place]
	switch {
	case b.call >= 0 && b.text.Len() == 0:
		return s.emitArguments(b, cmp.Or(string(c.Input), "{}"))
	case c.Type == "text":
		c.Text = b.text.String()
	case b.text.Len() > 0: // also for tools of the vendor
		c.Input = json.RawMessage(b.text.String())
	}
	return nil
}

func (s *stream) emitText(b *block, piece string) error {
	if piece == "" {
		return nil
	}
	b.text.WriteString(piece)
	return s.emit(llm.Chunk{Text: piece})
}

func (s *stream) emitArguments(b *block, piece string) error {
	if piece == "" {
		return nil
	}
	b.text.WriteString(piece)
	if b.call < 0 {
		return nil
	}
	return s.emit(llm.Chunk{ToolCall: &llm.ToolCallChunk{Index: b.call, Arguments: piece}})
}

func (s *stream) end() (*llm.Response, error) {
	r, err := s.p.response(s.res, &s.message)
	if err != nil {
		return nil, err
	}
	if len(r.ToolCalls) != len(s.calls) {
		return nil, s.malformed("the events of the stream are inconsistent", nil)
	}
	// Incomplete arguments are not JSON, so the message does not have them.
	for i, b := range s.calls {
		r.ToolCalls[i].Arguments = b.text.String()
	}
	if r.Refusal != "" {
		if err := s.emit(llm.Chunk{Refusal: r.Refusal}); err != nil {
			return nil, err
		}
	}
	return r, nil
}
