package llm

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// The defaults of Options.RequestTimeout, and of Options.IdleTimeout for streams.
const (
	DefaultRequestTimeout = 10 * time.Minute
	DefaultIdleTimeout    = 90 * time.Second
)

// callProvider makes one call of the provider within RequestTimeout.
func (x *run) callProvider(ctx context.Context, emit func(Chunk) error) (*Response, error) {
	limit := cmp.Or(x.p.options.RequestTimeout, DefaultRequestTimeout)
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	resp, err := x.runtime.provider.Call(timed, x.req, emit)
	if err == nil || ctx.Err() != nil || timed.Err() == nil || x.stop != nil {
		return resp, err
	}
	late := &ProviderError{Provider: x.runtime.Name(), Category: CategoryTimeout, Retryable: true,
		Message: "no whole answer within " + limit.String()}
	var failed *ProviderError
	if errors.As(err, &failed) {
		late.Usage = failed.Usage
	}
	return nil, late
}

// call calls the provider and handles its chunks in this goroutine. It flushes collected text on
// time even while no chunk arrives.
func (x *run) call(ctx context.Context) (*Response, error) {
	if x.stream.every == 0 {
		return x.callProvider(ctx, x.chunk)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g := &asyncCall{chunks: make(chan Chunk), ended: make(chan struct{})}
	go g.call(ctx, x)
	timer := time.NewTicker(x.stream.every)
	defer timer.Stop()
	for {
		var err error
		select {
		case c := <-g.chunks:
			err = x.chunk(c)
		case <-timer.C:
			err = x.stream.flush()
		case <-g.ended:
			return g.resp, g.err
		}
		if err != nil {
			x.stop = err
			cancel(err)
			<-g.ended
			return nil, err
		}
	}
}

// asyncCall is a call whose chunks are handled in another goroutine.
type asyncCall struct {
	chunks chan Chunk
	ended  chan struct{}
	resp   *Response // set before ended is closed
	err    error
}

func (g *asyncCall) call(ctx context.Context, x *run) {
	defer close(g.ended)
	g.resp, g.err = x.callProvider(ctx, func(c Chunk) error {
		select {
		case g.chunks <- c:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}
