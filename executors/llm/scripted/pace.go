package scripted

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parleyhub/parley/executors/llm"
)

// pace is how an answer comes.
type pace struct {
	wait, delay time.Duration
	// chunk is how many characters a piece has; 0, a word.
	chunk int
	// breaks and hangs are after how many pieces it goes wrong; nil, it does not.
	breaks, hangs *int
}

// think waits before there is an answer.
func (p *pace) think(ctx context.Context) error { return pause(ctx, p.wait) }

// tell streams an answer, if somebody listens. Without a stream a connection that ends, or hangs, gives nothing at all.
func (p *pace) tell(ctx context.Context, provider string, r *llm.Response, emit func(llm.Chunk) error) error {
	if emit == nil {
		return p.wrong(ctx, provider, p.breaks != nil, p.hangs != nil)
	}
	for i, c := range p.chunks(r) {
		if err := p.wrong(ctx, provider, reached(p.breaks, i), reached(p.hangs, i)); err != nil {
			return err
		}
		if err := pause(ctx, p.delay); err != nil {
			return err
		}
		if err := emit(c); err != nil {
			return err
		}
	}
	return p.wrong(ctx, provider, p.breaks != nil, p.hangs != nil)
}

func reached(after *int, sent int) bool { return after != nil && sent >= *after }

// wrong ends a connection, or waits until the caller ends it.
func (p *pace) wrong(ctx context.Context, provider string, breaks, hangs bool) error {
	switch {
	case hangs:
		<-ctx.Done()
		return ctx.Err()
	case breaks:
		return &llm.ProviderError{Provider: provider, Category: llm.CategoryNetwork, Retryable: true,
			Message: "the connection ended too early, as the script says"}
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

// chunks are the pieces of an answer: text, refusal, then each call of a tool, whose arguments come after its name.
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

// split cuts a text into pieces, which together are the text.
func (p *pace) split(text string) []string {
	var pieces []string
	for text != "" {
		n := p.piece(text)
		pieces = append(pieces, text[:n])
		text = text[n:]
	}
	return pieces
}

// piece is how many bytes of a text come next.
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
