package main

import (
	"context"
	"fmt"
	"time"
)

// replay compares how fast one client reads a long conversation from its beginning, again and
// again.
func replay(ctx context.Context, o *Options, all []server, r *run) error {
	var sides []*side
	for _, s := range all {
		name := s.about().Name
		r.progress("filling %s with %d events", name, o.Events)
		if err := s.fill(ctx, o.Events); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, how := range s.readers() {
			sides = append(sides, &side{name: how.name, turn: func(ctx context.Context) (sample, error) {
				return readAll(ctx, o,
					s, how)
			}})
		}
	}
	return r.row(ctx, o, Row{Name: fmt.Sprintf("replay of %d", o.Events)}, sides)
}

func readAll(ctx context.Context, o *Options, s server, how reader) (sample, error) {
	l, err := how.open(ctx)
	if err != nil {
		return sample{}, err
	}
	defer l.close()
	l.buf = make([]byte, replayBuffer)
	defer context.AfterFunc(ctx, l.close)()
	once := func() error {
		if err := l.patient(); err != nil {
			return err
		}
		n, err := how.read(l)
		if err == nil && n != o.Events {
			err = fmt.Errorf("it gave %d of %d events", n, o.Events)
		}
		return err
	}
	if err := once(); err != nil { // warms up
		return sample{}, s.process().explain(err)
	}
	var got sample
	got.elapsed, got.cpu, err = watch(alone{s}.processes(), func() error {
		for end := time.Now().Add(o.Slice); got.ops == 0 || time.Now().Before(end); {
			if err := once(); err != nil {
				return err
			}
			got.ops += o.Events
		}
		return nil
	})
	return got, err
}

// replayBuffer is for lines on which much comes at once.
const replayBuffer = 256 << 10
