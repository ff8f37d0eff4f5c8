package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// sample is what one turn of one side has measured.
type sample struct {
	ops     int
	elapsed time.Duration
	cpu     cost
	took    []time.Duration // sorted; empty where single operations are not timed
}

func (s sample) perSecond() float64 { return float64(s.ops) / s.elapsed.Seconds() }

// side is one of those that a row compares.
type side struct {
	name string
	// turn connects, warms up, and measures for a slice.
	turn func(ctx context.Context) (sample, error)

	samples []sample
}

// row lets all sides take their turns, round after round, and reports what came of it.
func (r *run) row(ctx context.Context, o *Options, row Row, sides []*side) error {
	for round := range o.Rounds {
		for _, s := range sides {
			got, err := s.turn(ctx)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", row.Name, s.name, err)
			}
			s.samples = append(s.samples, got)
			r.progress("%s: round %d of %d: %-22s %9.0f /s", row.Name, round+1, o.Rounds, s.name, got.perSecond())
		}
	}
	for _, s := range sides {
		row.Sides = append(row.Sides, s.report(sides[0], row.Times))
	}
	r.report.Rows = append(r.report.Rows, row)
	return nil
}

// report sums up a side, beside the first of its row, of which it is so many times, or the other
// way round.
func (s *side) report(first *side, times bool) Side {
	side := Side{Name: s.name}
	var rates, p50, p99, ratios []float64
	var ops int
	var cpu cost
	for i, got := range s.samples {
		rates = append(rates, got.perSecond())
		ratio := first.samples[i].perSecond() / got.perSecond()
		if times {
			ratio = 1 / ratio
		}
		ratios = append(ratios, ratio)
		p50, p99 = append(p50, quantile(got.took, 0.50)), append(p99, quantile(got.took, 0.99))
		ops, cpu = ops+got.ops, cpu.plus(got.cpu)
	}
	side.PerSecond, side.Ops = spreadOf(rates), ops
	side.P50Ms, side.P99Ms = spreadOf(p50).Median, spreadOf(p99).Median
	side.ServerCPUus = float64(cpu.server.Microseconds()) / float64(ops)
	side.ClientCPUus = float64(cpu.client.Microseconds()) / float64(ops)
	if s != first {
		ratio := spreadOf(ratios)
		side.Ratio = &ratio
	}
	return side
}

// Spread is the median of the rounds, and the least and greatest of them.
type Spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

func spreadOf(v []float64) Spread {
	sorted := slices.Sorted(slices.Values(v))
	n := len(sorted)
	return Spread{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Low: sorted[0], High: sorted[n-1]}
}

// quantile is in milliseconds.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(q*float64(len(sorted)-1))].Microseconds()) / 1000
}

// cost is CPU time, user and system.
type cost struct {
	server time.Duration // of all its processes
	client time.Duration // of this one
}

func (u cost) plus(v cost) cost { return cost{u.server + v.server, u.client + v.client} }

func (u cost) minus(v cost) cost { return cost{u.server - v.server, u.client - v.client} }

func costOf(servers []*process) (cost, error) {
	client, err := ownCPU()
	sum := cost{client: client}
	for _, p := range servers {
		used, ended := treeCPU(p.cmd.Process.Pid)
		sum.server, err = sum.server+used, errors.Join(err, ended)
	}
	return sum, err
}

// watch measures what do does, and the CPU time that is taken for it.
func watch(servers []*process, do func() error) (elapsed time.Duration, cpu cost, err error) {
	before, err := costOf(servers)
	if err != nil {
		return 0, cost{}, err
	}
	start := time.Now()
	if err := do(); err != nil {
		for _, p := range servers {
			err = p.explain(err)
		}
		return 0, cost{}, err
	}
	elapsed = time.Since(start)
	after, err := costOf(servers)
	return elapsed, after.minus(before), err
}
