package scripted

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parleyhub/parley/executors/llm"
)

// pace is the timing of an answer.
type pace struct {
	wait, delay time.Duration
	// chunk is the number of characters of a chunk; 0 means a word.
	chunk int
	// breaks and hangs are the number of chunks before the stream breaks or hangs; nil means never.
	breaks, hangs *int
}

// think waits before the answer.
func (p *pace) think(ctx context.Context) error { return pause(ctx, p.wait) }

// send streams an answer to emit. If emit is nil, a connection that breaks or hangs returns nothing
// at all.
func (p *pace) send(ctx context.Context, provider string, r *llm.Response, emit func(llm.Chunk) error) error {
	if emit == nil {
		return p.interrupt(ctx, provider, p.breaks != nil, p.hangs != nil)
	}
	for i, c := range p.chunks(r) {
		if err := p.interrupt(ctx, provider, reached(p.breaks, i), reached(p.hangs, i)); err != nil {
			return err
		}
		if err := pause(ctx, p.delay); err != nil {
			return err
		}
		if err := emit(c); err != nil {
			return err
		}
	}
	return p.interrupt(ctx, provider, p.breaks != nil, p.hangs != nil)
}

func reached(after *int, sent int) bool { return after != nil && sent >= *after }

// interrupt breaks the connection, or waits until the caller cancels the call.
func (p *pace) interrupt(ctx context.Context, provider string, breaks, hangs bool) error {
	switch {
	case hangs:
		<-ctx.Done()
		return ctx.Err()
	case breaks:
		return &llm.ProviderError{Provider: provider, Category: llm.CategoryNetwork, Retryable: true,
			Message: "the script breaks the connection"}
	}
	return ctx.Err()
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// chunks returns the chunks of an answer: text, refusal, then each tool call with its arguments
// after its name.
func (p *pace) chunks(r *llm.Response) []llm.Chunk {
	var all []llm.Chunk
	for _, s := range p.split(r.Text) {
		all = append(all, llm.Chunk{Text: s})
	}
	for _, s := range p.split(r.Refusal) {
		all = append(all, llm.Chunk{Refusal: s})
	}
	for i, c := range r.ToolCalls {
		all = append(all, llm.Chunk{ToolCall: &llm.ToolCallChunk{Index: i, ID: c.ID, Name: c.Name}})
		for _, s := range p.split(c.Arguments) {
			all = append(all, llm.Chunk{ToolCall: &llm.ToolCallChunk{Index: i, Arguments: s}})
		}
	}
	return all
}

// split splits a text into chunks.
func (p *pace) split(text string) []string {
	var pieces []string
	for text != "" {
		n := p.piece(text)
		pieces = append(pieces, text[:n])
		text = text[n:]
	}
	return pieces
}

// piece returns the size of the next chunk in bytes.
func (p *pace) piece(text string) int {
	if p.chunk == 0 {
		if word := strings.TrimLeft(text, " "); strings.Contains(word, " ") {
			return len(text) - len(word) + strings.IndexByte(word, ' ')
		}
		return len(text)
	}
	n := 0
	for range p.chunk {
		_, size := utf8.DecodeRuneInString(text[n:])
		n += size
	}
	return n
}
