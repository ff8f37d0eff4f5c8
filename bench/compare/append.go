package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// warmUp is how long connections work before they are measured.
const warmUp = 200 * time.Millisecond

// appender is a server in the append workload, with the number of its acknowledgements.
type appender struct {
	server
	acknowledged int
}

// appends compares durable appends of each shape. In the end each server must hold as many as it has acknowledged, no more and no fewer.
func appends(ctx context.Context, o *Options, all []server, r *run) error {
	var appenders []*appender
	for _, s := range all {
		if err := s.prepare(ctx, o.Conversations); err != nil {
			return fmt.Errorf("%s: %w", s.about().Name, err)
		}
		appenders = append(appenders, &appender{server: s})
	}
	for _, shape := range o.Shapes {
		var sides []*side
		for _, a := range appenders {
			sides = append(sides, &side{name: a.about().Name, turn: func(ctx context.Context) (sample, error) { return a.turn(ctx, o, shape) }})
		}
		if err := r.row(ctx, o, fmt.Sprintf("append %s", shape), sides); err != nil {
			return err
		}
	}
	for _, a := range appenders {
		if err := a.verify(ctx); err != nil {
			return fmt.Errorf("%s: %w", a.about().Name, err)
		}
	}
	return nil
}

func (a *appender) turn(ctx context.Context, o *Options, shape Shape) (sample, error) {
	lanes, err := open(ctx, shape.Conns, func(ctx context.Context, i int) (*lane, error) { return a.appender(ctx, i, shape.Window) })
	if err != nil {
		return sample{}, err
	}
	defer closeAll(lanes)
	work := func(d time.Duration) error {
		then := time.Now().Add(d)
		return each(ctx, lanes, func(l *lane) error { return l.until(then) })
	}
	if err := work(min(warmUp, o.Slice)); err != nil {
		return sample{}, err
	}
	a.acknowledged += len(taken(lanes))
	elapsed, cpu, err := watch(a.server, func() error { return work(o.Slice) })
	if err != nil {
		return sample{}, err
	}
	took := taken(lanes)
	a.acknowledged += len(took)
	if len(took) < shape.Conns {
		return sample{}, fmt.Errorf("%d appends on %d connections: too few to say anything", len(took), shape.Conns)
	}
	slices.Sort(took)
	return sample{ops: len(took), elapsed: elapsed, cpu: cpu, took: took}, nil
}

// taken gives how long the requests of all lanes took, and forgets it.
func taken(lanes []*lane) []time.Duration {
	var all []time.Duration
	for _, l := range lanes {
		all = append(all, l.took...)
		l.took = l.took[:0]
	}
	return all
}

func (a *appender) verify(ctx context.Context) error {
	stored, err := a.appended(ctx)
	if err != nil {
		return err
	}
	if stored != a.acknowledged {
		return fmt.Errorf("it holds %d appends and has acknowledged %d", stored, a.acknowledged)
	}
	return nil
}
