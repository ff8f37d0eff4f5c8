package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

// chatStream parses the events of a chat completion. A whole answer is one event.
type chatStream struct {
	p    *Provider
	req  *llm.Request
	res  *http.Response
	emit func(llm.Chunk) error

	id, model string
	said      bool // a choice was received
	content   chatContent
	refusal   strings.Builder
	reasoning strings.Builder
	calls     chatCalls
	more      wire.Joined // unknown members of the message
	usage     *llm.Usage
	reason    string
}

func (p *Provider) newChatStream(res *http.Response, req *llm.Request, emit func(llm.Chunk) error) *chatStream {
	return &chatStream{p: p, req: req, res: res, emit: emit, calls: chatCalls{emit: emit}}
}

func (p *Provider) streamChat(res *http.Response, req *llm.Request, emit func(llm.Chunk) error) (
	r *llm.Response, err error) {
	s := p.newChatStream(res, req, emit)
	defer func() { err = wire.WithUsage(err, s.usage) }()
	d := ssestream.NewDecoder(res)
	for d.Next() {
		data := bytes.TrimSpace(d.Event().Data)
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			return s.end()
		}
		if len(data) == 0 {
			continue
		}
		if err := s.event(wire.MarkSurrogates(data)); err != nil {
			return nil, err
		}
	}
	if d.Err() == nil && s.reason != "" { // some servers end without [DONE]
		return s.end()
	}
	return nil, p.server.Cut(res, d.Err())
}

func (s *chatStream) event(data []byte) error {
	if e := errorOf(data); e != nil {
		return s.p.failed(s.res, e)
	}
	var c chatAnswer
	if err := json.Unmarshal(data, &c); err != nil {
		return s.p.server.Malformed(s.res, "an event of the stream is not JSON of chat completions", err)
	}
	return s.answer(&c)
}

func (s *chatStream) answer(c *chatAnswer) error {
	s.id, s.model = cmp.Or(wire.Text(c.ID), s.id), cmp.Or(wire.Text(c.Model), s.model)
	s.usage = cmp.Or(chatUsage(c.Usage), s.usage)
	for i := range c.Choices {
		if index, ok := wire.Index(c.Choices[i].Index); ok && index != 0 {
			continue
		}
		return s.choice(&c.Choices[i])
	}
	return nil
}

// The members of messages, calls and functions that are not kept as unknown ones. OpenAI refuses
// annotations and audio in requests.
var (
	messageMembers  = []string{"role", "content", "refusal", "tool_calls", "function_call", "annotations", "audio"}
	callMembers     = []string{"id", "type", "index", "function"}
	functionMembers = []string{"name", "arguments"}
	// reasoningMembers have readable thoughts. Some servers send the same text in two of them.
	reasoningMembers = []string{"reasoning_content", "reasoning", "thinking"}
)

func (s *chatStream) choice(c *chatChoice) error {
	s.said = true
	s.reason = cmp.Or(wire.Text(c.FinishReason), s.reason)
	s.usage = cmp.Or(chatUsage(c.Usage), s.usage)
	message := wire.Members(c.Delta)
	if message == nil {
		message = wire.Members(c.Message)
	}
	for name, value := range message {
		if !slices.Contains(messageMembers, name) {
			s.more.AddMember(name, value)
		}
	}
	for _, name := range reasoningMembers {
		if d := wire.Text(message[name]); d != "" {
			if err := s.think(d); err != nil {
				return err
			}
			break
		}
	}
	for _, part := range s.content.add(message["content"]) {
		if err := s.part(part); err != nil {
			return err
		}
	}
	if err := s.refuse(wire.Text(message["refusal"])); err != nil {
		return err
	}
	return s.calls.add(message)
}

func (s *chatStream) part(c llm.Chunk) error {
	switch {
	case c.Reasoning != "":
		return s.think(c.Reasoning)
	case c.Refusal != "":
		return s.refuse(c.Refusal)
	}
	return s.emit(c)
}

func (s *chatStream) think(piece string) error {
	s.reasoning.WriteString(piece)
	return s.emit(llm.Chunk{Reasoning: piece})
}

func (s *chatStream) refuse(piece string) error {
	if piece == "" {
		return nil
	}
	s.refusal.WriteString(piece)
	return s.emit(llm.Chunk{Refusal: piece})
}

func (s *chatStream) end() (*llm.Response, error) {
	if !s.said {
		return nil, s.p.server.Malformed(s.res, "the stream has no choice", nil)
	}
	calls, complete := s.calls.all()
	if !complete {
		return nil, s.p.server.Malformed(s.res, "the stream has a tool call without a name", nil)
	}
	r := &llm.Response{
		Text: s.content.text.String(), Refusal: s.refusal.String(), Reasoning: s.reasoning.String(), ToolCalls: calls,
		Usage: s.usage, Model: s.model, Metadata: s.p.server.Metadata(s.res, s.id),
	}
	finish(r, s.reason)
	if r.Refusal != "" && s.refusal.Len() == 0 {
		if err := s.emit(llm.Chunk{Refusal: r.Refusal}); err != nil {
			return nil, err
		}
	}
	own := opaque{API: llm.APIChat, Message: s.more.JSON(), Content: s.content.raw(s.p.thinks(s.req)),
		Calls: s.calls.more(), Legacy: s.calls.legacy != nil}
	if own.Message != nil || own.Content != nil || own.Calls != nil || own.Legacy {
		data, err := json.Marshal(own)
		if err != nil {
			return nil, s.p.server.Malformed(s.res, "the message is not JSON", err)
		}
		r.Opaque = &llm.Opaque{Provider: s.p.server.Name, Data: data}
	}
	return r, nil
}

// chatContent is the content of a message: a text, or a list of parts.
type chatContent struct {
	text  strings.Builder
	parts []*wire.Joined // all parts, once one of them is not text
	kind  string         // of the last part
}

// add adds the content of a delta, and returns its readable parts as chunks.
func (c *chatContent) add(raw json.RawMessage) (all []llm.Chunk) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '"':
		all = c.addText(all, wire.Text(raw))
	case '{':
		all = c.addPart(all, raw)
	case '[':
		var parts []json.RawMessage
		if json.Unmarshal(raw, &parts) != nil {
			return nil
		}
		for _, part := range parts {
			all = append(all, c.add(part)...)
		}
	}
	return all
}

func (c *chatContent) addText(all []llm.Chunk, text string) []llm.Chunk {
	if text == "" {
		return all
	}
	c.text.WriteString(text)
	if c.parts != nil {
		c.keep("text", encodeText(text))
	}
	return append(all, llm.Chunk{Text: text})
}

func (c *chatContent) addPart(all []llm.Chunk, raw json.RawMessage) []llm.Chunk {
	part := wire.Members(raw)
	kind := wire.Text(part["type"])
	switch kind {
	case "", "text", "output_text":
		return c.addText(all, partText(part["text"]))
	}
	if c.parts == nil && c.text.Len() > 0 {
		c.keep("text", encodeText(c.text.String()))
	}
	c.keep(kind, raw)
	switch {
	case kind == "refusal":
		return append(all, llm.Chunk{Refusal: wire.Text(part["refusal"])})
	case strings.HasPrefix(kind, "reasoning"), strings.HasPrefix(kind, "thinking"):
		for _, name := range []string{"thinking", "reasoning", "text", "content"} {
			if text := partText(part[name]); text != "" {
				return append(all, llm.Chunk{Reasoning: text})
			}
		}
	}
	return all
}

// keep joins a part with the last one if both are of the same kind.
func (c *chatContent) keep(kind string, raw json.RawMessage) {
	if c.parts == nil || kind != c.kind {
		c.parts, c.kind = append(c.parts, &wire.Joined{}), kind
	}
	c.parts[len(c.parts)-1].Add(raw)
}

// raw returns the content if the text does not have all of it. It is nil otherwise.
func (c *chatContent) raw(thinks bool) json.RawMessage {
	if c.parts == nil {
		if text := c.text.String(); thinks && wire.Thinks(text) {
			raw, _ := json.Marshal(text) // encoding a string cannot fail
			return raw
		}
		return nil
	}
	all := make([]json.RawMessage, 0, len(c.parts))
	for _, part := range c.parts {
		all = append(all, part.JSON())
	}
	raw, _ := json.Marshal(all)
	return raw
}

// encodeText returns a text as a part.
func encodeText(text string) json.RawMessage {
	raw, _ := json.Marshal(map[string]string{"type": "text", "text": text}) // encoding strings cannot fail
	return raw
}

// partText returns the text of a part: a string, an object with the text, or a list of both.
func partText(raw json.RawMessage) string {
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		if o := wire.Members(raw); o != nil {
			return cmp.Or(wire.Text(o["text"]), wire.Text(o["value"]))
		}
		return wire.Text(raw)
	}
	var all strings.Builder
	for _, part := range parts {
		all.WriteString(partText(part))
	}
	return all.String()
}
