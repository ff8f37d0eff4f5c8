package main

import (
	"context"
	"sync"
)

// dialers is how many connections are made at once.
const dialers = 16

// connected is a line or a lane.
type connected interface {
	comparable
	close()
}

// open makes n connections. It returns all of them or none.
func open[C connected](ctx context.Context, n int, dial func(ctx context.Context, i int) (C, error)) ([]C, error) {
	conns := make([]C, n)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var g sync.WaitGroup
	for d := range min(n, dialers) {
		g.Go(func() {
			for i := d; i < n && ctx.Err() == nil; i += dialers {
				c, err := dial(ctx, i)
				if err != nil {
					cancel(err)
					return
				}
				conns[i] = c
			}
		})
	}
	g.Wait()
	if err := context.Cause(ctx); err != nil {
		closeAll(conns)
		return nil, err
	}
	return conns, nil
}

// each runs f for all connections at once. The first error closes all, and so does the end of ctx.
func each[C connected](ctx context.Context, conns []C, f func(C) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { closeAll(conns) })
	defer stop()
	var g sync.WaitGroup
	for _, c := range conns {
		g.Go(func() {
			if err := f(c); err != nil {
				cancel(err)
			}
		})
	}
	g.Wait()
	return context.Cause(ctx)
}

func closeAll[C connected](conns []C) {
	var none C
	for _, c := range conns {
		if c != none {
			c.close()
		}
	}
}
