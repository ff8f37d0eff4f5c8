package bench

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// worker does one thing after another until end, and notes how long each took.
type worker interface {
	work(end time.Time) error
	// taken returns the number of operations since its last call, and the recorded durations, which
	// are valid until the next call of work.
	taken() (ops int, took []time.Duration)
	// close makes work that is under way fail.
	close()
}

// take is the common way of taken.
func take(noted *[]time.Duration) (int, []time.Duration) {
	all := *noted
	*noted = all[:0]
	return len(all), all
}

// side is one of the things that are compared: who works, and what serves them.
type side struct {
	target  Target
	workers []worker
}

// patience is how much longer than asked for a slice of a run may take.
const patience = time.Minute

var errPatience = fmt.Errorf("the server has not answered for %s", patience)

// slice lets all workers work for d, and waits for what is under way then.
func (s *side) slice(ctx context.Context, d time.Duration) (Rate, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d+patience, errPatience)
	defer cancel()
	stop := context.AfterFunc(ctx, s.Close)
	defer stop()
	use := startUsage(&s.target)
	until := use.start.Add(d)
	var g errgroup.Group
	for _, w := range s.workers {
		g.Go(func() error { return w.work(until) })
	}
	err := g.Wait()
	use.stop()
	if ctx.Err() != nil {
		return Rate{}, context.Cause(ctx)
	}
	if err != nil {
		return Rate{}, err
	}
	var took []time.Duration
	ops := 0
	for _, w := range s.workers {
		n, some := w.taken()
		ops += n
		took = append(took, some...)
	}
	return use.rate(ops, took), nil
}

// Close closes the connections.
func (s *side) Close() {
	for _, w := range s.workers {
		w.close()
	}
}

// slicing measures one thing for some time.
type slicing func(ctx context.Context, d time.Duration) (Rate, error)

// pieces is into how many alternating pieces a run is cut.
const pieces = 6

// alternate warms all up and then measures them in turns, each for total in the end.
func alternate(ctx context.Context, total time.Duration, all ...slicing) ([][]Rate, error) {
	rates := make([][]Rate, len(all))
	for _, measure := range all {
		if _, err := measure(ctx, min(total/pieces, 300*time.Millisecond)); err != nil {
			return nil, err
		}
	}
	for range pieces {
		for i, measure := range all {
			r, err := measure(ctx, total/pieces)
			if err != nil {
				return nil, err
			}
			rates[i] = append(rates[i], r)
		}
	}
	return rates, nil
}
