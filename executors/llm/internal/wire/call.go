package wire

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/parleyhub/parley/executors/llm"
)

// Lifetime is the lifetime of a provider. It is safe for concurrent use.
type Lifetime struct {
	faults Faults
	ctx    context.Context
	end    context.CancelFunc
}

// NewLifetime starts a lifetime.
func NewLifetime(f Faults) *Lifetime {
	ctx, end := context.WithCancel(context.Background())
	return &Lifetime{faults: f, ctx: ctx, end: end}
}

// End cancels all calls.
func (l *Lifetime) End() { l.end() }

// Call makes one call that is canceled with ctx and at the end of the lifetime. It returns the
// error of ctx if ctx is done, an error of emit unchanged, and otherwise a *llm.ProviderError. If
// emit is nil, call gets a nil emit too.
func (l *Lifetime) Call(ctx context.Context, emit func(llm.Chunk) error,
	call func(context.Context, func(llm.Chunk) error) (*llm.Response, error)) (*llm.Response, error) {
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	var refused error
	var guarded func(llm.Chunk) error
	if emit != nil {
		guarded = func(c llm.Chunk) error {
			refused = emit(c)
			return refused
		}
	}
	res, err := call(run, guarded)
	var provider *llm.ProviderError
	switch {
	case err == nil:
		return res, nil
	case refused != nil:
		return nil, refused
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case l.ctx.Err() != nil:
		return nil, l.faults.Closed()
	case errors.As(err, &provider):
		return nil, provider
	}
	return nil, l.faults.Broken(nil, err)
}

// Whole reads the body of an answer.
func (f Faults) Whole(res *http.Response) ([]byte, error) {
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, f.Broken(res, err)
	}
	return raw, nil
}

// IsStream returns an error if an answer is not an event stream.
func (f Faults) IsStream(res *http.Response) error {
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != "text/event-stream" {
		return f.Malformed(res, "the answer is not an event stream", nil)
	}
	return nil
}
