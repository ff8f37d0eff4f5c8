package wire

import (
	"encoding/json"
	"strings"

	"github.com/parleyhub/parley/executors/llm"
)

// The keys of texts that are not the arguments of a call.
const (
	textKey = -1 - iota
	refusalKey
	reasoningKey
)

// Cleaner passes the chunks of one exchange on. It joins surrogate pairs that were split over
// chunks, and separates <think> blocks from the text.
type Cleaner struct {
	emit  func(llm.Chunk) error // nil without a stream
	think *thinkSplitter        // nil if <think> is text
	held  map[int]string        // marks of high surrogates at the end of the last chunk, by key
}

// NewCleaner returns a Cleaner. emit may be nil.
func NewCleaner(emit func(llm.Chunk) error, think bool) *Cleaner {
	c := &Cleaner{emit: emit, held: map[int]string{}}
	if think {
		c.think = &thinkSplitter{}
	}
	return c
}

// Emit returns the function that gets the chunks of the vendor. It is nil without a stream.
func (c *Cleaner) Emit() func(llm.Chunk) error {
	if c.emit == nil {
		return nil
	}
	return c.chunk
}

func (c *Cleaner) chunk(k llm.Chunk) error {
	k.Refusal, k.Reasoning = c.join(refusalKey, k.Refusal), c.join(reasoningKey, k.Reasoning)
	if t := k.ToolCall; t != nil {
		call := *t
		call.ID, call.Name = JoinSurrogates(t.ID), JoinSurrogates(t.Name)
		call.Arguments = c.join(t.Index, t.Arguments)
		k.ToolCall = &call
		if call.ID+call.Name+call.Arguments == "" {
			k.ToolCall = nil
		}
	}
	if k.Text != "" {
		return c.text(c.join(textKey, k.Text))
	}
	return c.send(k)
}

// text passes a piece of the answer on.
func (c *Cleaner) text(piece string) error {
	if c.think == nil {
		return c.send(llm.Chunk{Text: piece})
	}
	reasoning, text := c.think.add(piece)
	if err := c.send(llm.Chunk{Reasoning: reasoning}); err != nil {
		return err
	}
	return c.send(llm.Chunk{Text: text})
}

func (c *Cleaner) send(k llm.Chunk) error {
	if k == (llm.Chunk{}) {
		return nil
	}
	return c.emit(k)
}

// join returns a piece of a text with its surrogate pairs. It holds a mark at the end back.
func (c *Cleaner) join(key int, piece string) string {
	if piece == "" {
		return ""
	}
	whole, mark := splitMark(c.held[key] + piece)
	delete(c.held, key)
	if mark != "" {
		c.held[key] = mark
	}
	return JoinSurrogates(whole)
}

// Finish passes the held text on, and cleans the response.
func (c *Cleaner) Finish(r *llm.Response, err error) (*llm.Response, error) {
	if err != nil {
		return nil, err
	}
	if c.emit != nil {
		if err := c.flush(); err != nil {
			return nil, err
		}
	}
	r.Text, r.Refusal, r.Reasoning = JoinSurrogates(r.Text), JoinSurrogates(r.Refusal), JoinSurrogates(r.Reasoning)
	for i := range r.ToolCalls {
		t := &r.ToolCalls[i]
		t.ID, t.Name, t.Arguments = JoinSurrogates(t.ID), JoinSurrogates(t.Name), JoinSurrogates(t.Arguments)
	}
	if r.Opaque != nil {
		r.Opaque.Data = json.RawMessage(JoinSurrogates(string(r.Opaque.Data)))
	}
	if c.think != nil {
		reasoning, text := SplitThink(r.Text)
		r.Reasoning, r.Text = r.Reasoning+reasoning, text
	}
	return r, nil
}

// flush passes on what was held.
func (c *Cleaner) flush() error {
	for key, mark := range c.held {
		text := JoinSurrogates(mark)
		var err error
		switch key {
		case textKey:
			err = c.text(text)
		case refusalKey:
			err = c.send(llm.Chunk{Refusal: text})
		case reasoningKey:
			err = c.send(llm.Chunk{Reasoning: text})
		default:
			err = c.send(llm.Chunk{ToolCall: &llm.ToolCallChunk{Index: key, Arguments: text}})
		}
		if err != nil {
			return err
		}
	}
	if c.think == nil {
		return nil
	}
	if c.think.inside {
		return c.send(llm.Chunk{Reasoning: c.think.held})
	}
	return c.send(llm.Chunk{Text: c.think.end()})
}

// emitWhole passes a response that was not streamed on as chunks.
func emitWhole(r *llm.Response, emit func(llm.Chunk) error) error {
	chunks := []llm.Chunk{{Reasoning: r.Reasoning}, {Text: r.Text}, {Refusal: r.Refusal}}
	for i, t := range r.ToolCalls {
		chunks = append(chunks, llm.Chunk{ToolCall: &llm.ToolCallChunk{Index: i, ID: t.ID, Name: t.Name}})
		if t.Arguments != "" {
			chunks = append(chunks, llm.Chunk{ToolCall: &llm.ToolCallChunk{Index: i, Arguments: t.Arguments}})
		}
	}
	for _, c := range chunks {
		if c == (llm.Chunk{}) {
			continue
		}
		if err := emit(c); err != nil {
			return err
		}
	}
	return nil
}

// Arguments returns the arguments of a call as a JSON object, which all vendors accept. Missing
// arguments are an empty object. Other text becomes a member of an object.
func Arguments(written string) json.RawMessage {
	if text := strings.TrimSpace(written); text == "" || text == "null" {
		return json.RawMessage(`{}`)
	}
	if Members(json.RawMessage(written)) == nil {
		return encode(map[string]string{"arguments": strings.ToValidUTF8(written, "\uFFFD")})
	}
	fixed := replaceSurrogates([]byte(written), func(rune) string { return "\uFFFD" })
	return json.RawMessage(strings.ToValidUTF8(string(fixed), "\uFFFD"))
}
