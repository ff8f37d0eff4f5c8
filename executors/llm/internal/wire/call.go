package wire

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/parleyhub/parley/executors/llm"
)

// Life is how long a provider lives. Its methods may be called from any goroutine.
type Life struct {
	faults Faults
	ctx    context.Context
	end    context.CancelFunc
}

// NewLife begins a life.
func NewLife(f Faults) *Life {
	ctx, end := context.WithCancel(context.Background())
	return &Life{faults: f, ctx: ctx, end: end}
}

// End ends all calls.
func (l *Life) End() { l.end() }

// Call makes one call that ends with ctx and with the life. It gives ctx's error where ctx has ended, an error of emit as it is, and else a *llm.ProviderError. The emit that call is
// given is nil where emit is.
func (l *Life) Call(ctx context.Context, emit func(llm.Chunk) error,
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

// Whole reads a body that is an answer.
func (f Faults) Whole(res *http.Response) ([]byte, error) {
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, f.Broken(res, err)
	}
	return raw, nil
}

// IsStream fails where an answer is no stream of events.
func (f Faults) IsStream(res *http.Response) error {
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != "text/event-stream" {
		return f.Malformed(res, "the answer is no stream of events", nil)
	}
	return nil
}
