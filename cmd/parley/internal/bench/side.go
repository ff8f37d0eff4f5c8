package bench

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// side is one server with its connections and what was measured of it.
type side struct {
	conns  []*conn
	server *child

	ops     int
	elapsed time.Duration
	cpu     time.Duration
	took    []time.Duration
}

// slice keeps one call in flight on every connection for d.
func (s *side) slice(ctx context.Context, d time.Duration) error {
	cpu := s.server.cpu()
	start := time.Now()
	end := start.Add(d)
	var g errgroup.Group
	for _, c := range s.conns {
		g.Go(func() error { return c.work(ctx, end) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	s.elapsed += time.Since(start)
	s.cpu += s.server.cpu() - cpu
	for _, c := range s.conns {
		s.ops += len(c.took)
		s.took = append(s.took, c.took...)
		c.took = c.took[:0]
	}
	return nil
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
