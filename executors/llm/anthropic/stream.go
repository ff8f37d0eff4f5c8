package anthropic

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

// stream parses the events of a message.
type stream struct {
	p    *Provider
	req  *llm.Request
	res  *http.Response
	emit func(llm.Chunk) error

	begun   bool
	message wire.Joined // without the content
	usage   wire.Joined
	blocks  []*block
	open    map[int]*block // by the index of the vendor; the last one if an index is used twice
	calls   int
}

// block is a started block of the message. The deltas are joined here and not by the SDK, which
// drops the members that it does not know.
type block struct {
	kind  string
	all   wire.Joined
	input strings.Builder // the arguments of a call
	call  int             // index of the call, or -1
	ended bool
}

func (p *Provider) stream(res *http.Response, req *llm.Request, emit func(llm.Chunk) error) (
	r *llm.Response, err error) {
	s := &stream{p: p, req: req, res: res, emit: emit, open: map[int]*block{}}
	defer func() {
		if err != nil { // the start of the message has the tokens of the prompt
			err = wire.WithUsage(err, usage(wire.Members(s.message.JSON())["usage"]))
		}
	}()
	d := ssestream.NewDecoder(res)
	for d.Next() {
		e := d.Event()
		if len(bytes.TrimSpace(e.Data)) == 0 {
			continue
		}
		r, err := s.event(wire.MarkSurrogates(e.Data))
		if r != nil || err != nil {
			return r, err
		}
	}
	return nil, p.server.Cut(res, d.Err())
}

// event is one event of a stream.
type event struct {
	Type         string          `json:"type"`
	Index        json.RawMessage `json:"index"`
	Message      json.RawMessage `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        json.RawMessage `json:"delta"`
	Usage        json.RawMessage `json:"usage"`
}

// event handles one event. It returns the Response after the last one.
func (s *stream) event(data []byte) (*llm.Response, error) {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, s.malformed("an event of the stream is not JSON of the Messages API", err)
	}
	switch e.Type {
	case "message_start":
		message := wire.Members(e.Message)
		if s.begun || wire.Text(message["type"]) != "message" || len(contentOf(message["content"])) > 0 {
			return nil, s.malformed("the stream does not start with one message", nil)
		}
		s.begun = true
		s.message.Add(e.Message)
		s.addUsage(message["usage"])
		return nil, nil
	case "message_delta", "content_block_start", "content_block_delta", "content_block_stop", "message_stop":
		if !s.begun {
			return nil, s.malformed("the stream does not start with a message", nil)
		}
		return s.part(&e)
	}
	if e := wire.ErrorIn(data); e != nil {
		return nil, s.p.failed(s.res, e)
	}
	return nil, nil
}

func (s *stream) malformed(message string, err error) error {
	return s.p.server.Malformed(s.res, message, err)
}

// part handles an event of the message.
func (s *stream) part(e *event) (*llm.Response, error) {
	place, _ := wire.Index(e.Index)
	switch e.Type {
	case "content_block_start":
		return nil, s.startBlock(place, e.ContentBlock)
	case "content_block_delta":
		return nil, s.delta(s.open[place], wire.Members(e.Delta))
	case "content_block_stop":
		if b := s.open[place]; b != nil {
			return nil, s.finishBlock(b)
		}
	case "message_delta":
		for name, value := range wire.Members(e.Delta) {
			s.message.SetMember(name, value)
		}
		s.addUsage(e.Usage)
	case "message_stop":
		return s.end()
	}
	return nil, nil
}

// addUsage replaces the counts of the usage. Those of the end are totals.
func (s *stream) addUsage(raw json.RawMessage) {
	for name, count := range wire.Members(raw) {
		if string(count) != "null" {
			s.usage.SetMember(name, count)
		}
	}
}

func (s *stream) startBlock(place int, raw json.RawMessage) error {
	start := wire.Members(raw)
	b := &block{kind: wire.Text(start["type"]), call: -1}
	b.all.Add(raw)
	s.open[place] = b
	s.blocks = append(s.blocks, b)
	switch b.kind {
	case "text":
		return s.emitPiece(llm.Chunk{Text: wire.Text(start["text"])})
	case "thinking":
		return s.emitPiece(llm.Chunk{Reasoning: wire.Text(start["thinking"])})
	case "tool_use":
		b.call = s.calls
		s.calls++
		return s.emit(llm.Chunk{ToolCall: &llm.ToolCallChunk{Index: b.call, ID: wire.Text(start["id"]),
			Name: wire.Text(start["name"])}})
	}
	return nil
}

// delta joins a delta to its block. The name of a delta is its kind, and its other members are those
// of the block, except for the parts of lists and of the input.
func (s *stream) delta(b *block, delta map[string]json.RawMessage) error {
	kind := wire.Text(delta["type"])
	if b == nil || kind == "text_delta" && b.kind != "text" || kind == "input_json_delta" && b.kind == "text" {
		return s.malformed("a delta of the stream belongs to no started block", nil)
	}
	switch kind {
	case "input_json_delta":
		return s.emitArguments(b, wire.Text(delta["partial_json"]))
	case "citations_delta":
		b.all.AppendItem("citations", delta["citation"])
		return nil
	}
	for name, value := range delta {
		if name != "type" {
			b.all.AddMember(name, value)
		}
	}
	switch kind {
	case "text_delta":
		return s.emitPiece(llm.Chunk{Text: wire.Text(delta["text"])})
	case "thinking_delta":
		return s.emitPiece(llm.Chunk{Reasoning: wire.Text(delta["thinking"])})
	}
	return nil
}

// finishBlock completes a block. Arguments without deltas are in its start, or are empty.
func (s *stream) finishBlock(b *block) error {
	if b.ended {
		return nil
	}
	b.ended = true
	if b.call >= 0 && b.input.Len() == 0 {
		return s.emitArguments(b, inputOf(wire.Members(b.all.JSON())))
	}
	return nil
}

func (s *stream) emitPiece(c llm.Chunk) error {
	if c == (llm.Chunk{}) {
		return nil
	}
	return s.emit(c)
}

func (s *stream) emitArguments(b *block, piece string) error {
	if piece == "" {
		return nil
	}
	b.input.WriteString(piece)
	if b.call < 0 {
		return nil
	}
	return s.emit(llm.Chunk{ToolCall: &llm.ToolCallChunk{Index: b.call, Arguments: piece}})
}

func (s *stream) end() (*llm.Response, error) {
	a := s.p.newAnswer(s.req)
	for _, b := range s.blocks {
		if err := s.finishBlock(b); err != nil {
			return nil, err
		}
		a.addBlock(b.all.JSON(), b.input.String())
	}
	s.message.SetMember("usage", s.usage.JSON())
	r, err := a.response(s.res, s.message.JSON())
	if err == nil && r.Refusal != "" {
		err = s.emit(llm.Chunk{Refusal: r.Refusal})
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}
