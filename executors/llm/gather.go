package llm

import (
	"context"
	"time"
)

// call makes the provider's call and takes its chunks, in this goroutine: text that is gathered is told when it is time, also while nothing comes.
func (x *run) call(ctx context.Context) (*Response, error) {
	if x.teller.every == 0 {
		return x.runtime.provider.Call(ctx, x.req, x.chunk)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g := &gathering{chunks: make(chan Chunk), ended: make(chan struct{})}
	go g.call(ctx, x)
	timer := time.NewTicker(x.teller.every)
	defer timer.Stop()
	for {
		var err error
		select {
		case c := <-g.chunks:
			err = x.chunk(c)
		case <-timer.C:
			err = x.teller.flush()
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

// gathering is a call whose chunks go to another goroutine.
type gathering struct {
	chunks chan Chunk
	ended  chan struct{}
	resp   *Response // once it has ended
	err    error
}

func (g *gathering) call(ctx context.Context, x *run) {
	defer close(g.ended)
	g.resp, g.err = x.runtime.provider.Call(ctx, x.req, func(c Chunk) error {
		select {
		case g.chunks <- c:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}
