package bench

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// worker does one thing after another until end, and notes how long each took.
type worker interface {
	work(ctx context.Context, end time.Time) error
	// taken gives what was noted since it was asked last. It is good until work is called again.
	taken() []time.Duration
}

// take is the common way of taken.
func take(noted *[]time.Duration) []time.Duration {
	all := *noted
	*noted = all[:0]
	return all
}

// side is one of two things that are compared: who works, the processes that serve them, and what was measured.
type side struct {
	workers []worker
	servers []*child

	ops     int
	elapsed time.Duration
	cpu     time.Duration
	took    []time.Duration
}

// slice lets all workers work for d.
func (s *side) slice(ctx context.Context, d time.Duration) error {
	cpu := s.serverCPU()
	start := time.Now()
	end := start.Add(d)
	var g errgroup.Group
	for _, w := range s.workers {
		g.Go(func() error { return w.work(ctx, end) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	s.elapsed += time.Since(start)
	s.cpu += s.serverCPU() - cpu
	for _, w := range s.workers {
		took := w.taken()
		s.ops += len(took)
		s.took = append(s.took, took...)
	}
	return nil
}

func (s *side) serverCPU() (sum time.Duration) {
	for _, c := range s.servers {
		sum += c.cpu()
	}
	return sum
}

// forget drops what was measured so far.
func (s *side) forget() {
	s.ops, s.elapsed, s.cpu, s.took = 0, 0, 0, s.took[:0]
}

func (s *side) rate() Rate {
	slices.Sort(s.took)
	return Rate{
		Ops:         s.ops,
		PerSecond:   float64(s.ops) / s.elapsed.Seconds(),
		P50Ms:       quantile(s.took, 0.50),
		P99Ms:       quantile(s.took, 0.99),
		ServerCPUus: float64(s.cpu.Microseconds()) / float64(max(1, s.ops)),
	}
}

// quantile is in milliseconds.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(q*float64(len(sorted)-1))].Microseconds()) / 1000
}
