package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// fanOut compares bursts of one publisher to many subscribers, each of whom must have all of it and
// no more.
func fanOut(ctx context.Context, o *Options, all []server, r *run) error {
	for _, n := range o.Subscribers {
		name := fmt.Sprintf("fan-out to %d", n)
		if err := roomForFiles(n + 100); err != nil {
			r.leaveOut("left out: %s: %v", name, err)
			continue
		}
		var sides []*side
		for _, s := range all {
			if most := s.mostSubscribers(); n > most {
				r.leaveOut("left out: %s: %s takes at most %d", name, s.about().Name, most)
				continue
			}
			sides = append(sides, &side{name: s.about().Name, turn: func(ctx context.Context) (sample,
				error) {
				return publish(ctx, o, s, n)
			}})
		}
		if len(sides) == 0 {
			continue
		}
		if err := r.row(ctx, o, Row{Name: name}, sides); err != nil {
			return err
		}
	}
	return nil
}

func publish(ctx context.Context, o *Options, s server, n int) (sample, error) {
	from, err := s.publisher(ctx)
	if err != nil {
		return sample{}, err
	}
	defer from.close()
	to, err := open(ctx, n, s.subscriber)
	if err != nil {
		return sample{}, err
	}
	defer closeAll(to)
	size := o.Deliveries / n
	if err := burst(ctx, from, to, max(1, size/10)); err != nil {
		return sample{}, s.process().explain(err)
	}
	var got sample
	got.elapsed, got.cpu, err = watch(alone{s}.processes(), func() error {
		for end := time.Now().Add(o.Slice); got.ops == 0 || time.Now().Before(end); {
			if err := burst(ctx, from, to, size); err != nil {
				return err
			}
			got.ops += size * n
		}
		return nil
	})
	return got, err
}

// burst publishes as fast as it goes, and waits until everybody has all of it.
func burst(ctx context.Context, from *lane, to []*line, size int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	published := make(chan error, 1)
	go func() {
		err := each(ctx, []*lane{from}, func(l *lane) error { return l.times(size) })
		if err != nil {
			cancel(err)
		}
		published <- err
	}()
	err := each(ctx, to, func(l *line) error {
		if err := l.patient(); err != nil {
			return err
		}
		return l.count(size)
	})
	if err != nil {
		cancel(err)
	}
	return errors.Join(err, <-published)
}
