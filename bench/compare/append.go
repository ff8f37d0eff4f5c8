package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// warmUp is how long connections work before they are measured.
const warmUp = 200 * time.Millisecond

// taker takes appends: a server, or several that keep one log.
type taker interface {
	about() About
	// processes are those whose CPU time the appends cost.
	processes() []*process
	// appender opens a lane whose requests append to one of some conversations at random; it is number
	// i.
	appender(ctx context.Context, i, window int) (*lane, error)
	// appended counts all that is stored in them.
	appended(ctx context.Context) (int, error)
}

// alone is a server by itself.
type alone struct{ server }

func (a alone) processes() []*process { return []*process{a.process()} }

// appender is a taker with the number of its acknowledgements.
type appender struct {
	taker
	acknowledged int
}

// appends compares durable appends of each shape. In the end each server must hold as many as it
// has acknowledged, no more and no fewer.
func appends(ctx context.Context, o *Options, all []server, r *run) error {
	var appenders []*appender
	for _, s := range all {
		if err := s.prepare(ctx, o.Conversations); err != nil {
			return fmt.Errorf("%s: %w", s.about().Name, err)
		}
		appenders = append(appenders, &appender{taker: alone{s}})
	}
	for _, shape := range o.Shapes {
		if err := r.row(ctx, o, Row{Name: fmt.Sprintf("append %s", shape)}, sidesOf(appenders, o, shape)); err != nil {
			return err
		}
	}
	return verify(ctx, appenders)
}

func sidesOf(appenders []*appender, o *Options, shape Shape) (sides []*side) {
	for _, a := range appenders {
		sides = append(sides, &side{name: a.about().Name, turn: func(ctx context.Context) (sample,
			error) {
			return a.turn(ctx, o, shape)
		}})
	}
	return sides
}

func verify(ctx context.Context, appenders []*appender) error {
	for _, a := range appenders {
		if err := a.verify(ctx); err != nil {
			return fmt.Errorf("%s: %w", a.about().Name, err)
		}
	}
	return nil
}

func (a *appender) turn(ctx context.Context, o *Options, shape Shape) (sample, error) {
	lanes, err := open(ctx, shape.Conns, func(ctx context.Context, i int) (*lane, error) {
		return a.appender(ctx, i,
			shape.Window)
	})
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
	elapsed, cpu, err := watch(a.processes(), func() error { return work(o.Slice) })
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

// taken returns the durations of the requests of all lanes, and resets them.
func taken(lanes []*lane) []time.Duration {
	var all []time.Duration
	for _, l := range lanes {
		all = append(all, l.took...)
		l.took = l.took[:0]
	}
	return all
}

// catchUp is how long a hub may take to show what others have acknowledged.
const catchUp = 10 * time.Second

// verifyEvery is the pace at which it is asked meanwhile.
const verifyEvery = 20 * time.Millisecond

func (a *appender) verify(ctx context.Context) error {
	then := time.Now().Add(catchUp)
	for {
		stored, err := a.appended(ctx)
		switch {
		case err != nil:
			return err
		case stored == a.acknowledged:
			return nil
		case stored > a.acknowledged, time.Now().After(then):
			return fmt.Errorf("it holds %d appends and has acknowledged %d", stored, a.acknowledged)
		}
		select {
		case <-time.After(verifyEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
