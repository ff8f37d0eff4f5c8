package replay

import (
	"context"
	"fmt"

	"github.com/parleyhub/parley/executors/llm"
)

// provider records the answers of another provider, or replays them.
type provider struct {
	c     *Cassette
	name  string
	inner llm.Provider // nil for one that only plays
}

var _ llm.Provider = (*provider)(nil)

// Provider returns a provider that records or replays the answers of p, depending on the mode. It
// has the name of p, and closes p.
func (c *Cassette) Provider(p llm.Provider) llm.Provider {
	return &provider{c: c, name: p.Name(), inner: p}
}

// Player returns a provider that only replays, in any mode.
func (c *Cassette) Player(name string) llm.Provider { return &provider{c: c, name: name} }

func (p *provider) Name() string { return p.name }

func (p *provider) Close() error {
	if p.inner == nil {
		return nil
	}
	return p.inner.Close()
}

func (p *provider) Call(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	asked, err := canonical(req)
	if err != nil {
		return nil, p.refuse("invalid_request", fmt.Errorf("the request cannot be encoded as JSON: %w", err))
	}
	hash := hashOf("model", p.name, asked)
	if e, ok := p.c.take(hash); ok {
		return e.play(ctx, emit)
	}
	if p.c.mode == Play || p.inner == nil {
		return nil, p.refuse(ErrNotRecorded.Error(), p.c.missing(&entry{Provider: p.name, Hash: hash, Request: asked}))
	}
	return p.record(ctx, req, emit, &entry{Provider: p.name, Hash: hash, Request: asked})
}

func (p *provider) refuse(code string, err error) error {
	return &llm.ProviderError{Provider: p.name, Category: llm.CategoryInvalid, Code: code, Message: err.Error(), Err: err}
}

// record calls the provider and records the answer. If the answer cannot be recorded, the call
// fails.
func (p *provider) record(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error, e *entry) (*llm.Response,
	error) {
	hear := emit
	sinkFailed := false
	if emit != nil {
		hear = func(c llm.Chunk) error {
			e.Chunks = append(e.Chunks, chunkOf(c))
			err := emit(c)
			sinkFailed = sinkFailed || err != nil
			return err
		}
	}
	r, err := p.inner.Call(ctx, req, hear)
	switch {
	case err == nil:
		e.Response = responseOf(r)
	case sinkFailed || ctx.Err() != nil:
		e.Cut = true
	default:
		e.Error = failureOf(err)
	}
	if kept := p.c.add(e); kept != nil && !e.Cut {
		return nil, p.refuse("record_failed", kept)
	}
	return r, err
}

// play returns the recorded answer.
func (e *entry) play(ctx context.Context, emit func(llm.Chunk) error) (*llm.Response, error) {
	chunks := e.Chunks
	if len(chunks) == 0 && e.Response != nil {
		chunks = e.Response.chunks() // it was not streamed
	}
	for _, c := range chunks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if emit == nil {
			break
		}
		if err := emit(c.chunk()); err != nil {
			return nil, err
		}
	}
	switch {
	case e.Cut:
		<-ctx.Done()
		return nil, ctx.Err()
	case e.Error != nil:
		return nil, e.Error.err()
	}
	return e.Response.response(), nil
}

// chunks returns the chunks of a response that was not streamed.
func (k *response) chunks() []chunk {
	var all []chunk
	if k.Reasoning != "" {
		all = append(all, chunk{Reasoning: k.Reasoning})
	}
	if k.Text != "" {
		all = append(all, chunk{Text: k.Text})
	}
	if k.Refusal != "" {
		all = append(all, chunk{Refusal: k.Refusal})
	}
	for i, c := range k.ToolCalls {
		all = append(all, chunk{Call: &chunkCall{Index: i, ID: c.ID, Name: c.Name}})
		if c.Arguments != "" {
			all = append(all, chunk{Call: &chunkCall{Index: i, Arguments: c.Arguments}})
		}
	}
	return all
}
