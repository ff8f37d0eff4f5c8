package bench

import (
	"fmt"
	"slices"
	"time"
)

// Rate is what was measured of operations of one kind.
type Rate struct {
	Ops       int     `json:"ops"`
	PerSecond float64 `json:"perSecond"`
	P50Ms     float64 `json:"p50Ms"`
	P99Ms     float64 `json:"p99Ms"`
	// ServerCPUus and ClientCPUus are the CPU time per operation, in microseconds, of the processes of
	// the server and of the load. They are 0 if the system does not report it.
	ServerCPUus float64 `json:"serverCpuUs"`
	ClientCPUus float64 `json:"clientCpuUs,omitempty"`
}

// Spread is a figure that was measured several times.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// SpreadOf returns the zero Spread without figures.
func SpreadOf(figures []float64) Spread {
	if len(figures) == 0 {
		return Spread{}
	}
	s := slices.Sorted(slices.Values(figures))
	median := s[len(s)/2]
	if len(s)%2 == 0 {
		median = (s[len(s)/2-1] + median) / 2
	}
	return Spread{Median: median, Min: s[0], Max: s[len(s)-1]}
}

func (s Spread) String() string { return fmt.Sprintf("%.2f (%.2f to %.2f)", s.Median, s.Min, s.Max) }

// Ratios compares two things that were measured in turns: each figure of a over the one of b beside
// it.
func Ratios(a, b []Rate) Spread {
	var all []float64
	for i := range min(len(a), len(b)) {
		if b[i].PerSecond > 0 {
			all = append(all, a[i].PerSecond/b[i].PerSecond)
		}
	}
	return SpreadOf(all)
}

// Middle returns the median of each figure of several rates, and the sum of their operations.
func Middle(rates []Rate) Rate {
	pick := func(of func(*Rate) float64) float64 {
		var all []float64
		for i := range rates {
			all = append(all, of(&rates[i]))
		}
		return SpreadOf(all).Median
	}
	r := Rate{
		PerSecond:   pick(func(r *Rate) float64 { return r.PerSecond }),
		P50Ms:       pick(func(r *Rate) float64 { return r.P50Ms }),
		P99Ms:       pick(func(r *Rate) float64 { return r.P99Ms }),
		ServerCPUus: pick(func(r *Rate) float64 { return r.ServerCPUus }),
		ClientCPUus: pick(func(r *Rate) float64 { return r.ClientCPUus }),
	}
	for i := range rates {
		r.Ops += rates[i].Ops
	}
	return r
}

// usage measures time, and the processors' time on both sides, from startUsage to stop.
type usage struct {
	target  *Target
	start   time.Time
	elapsed time.Duration
	server  time.Duration
	client  time.Duration
}

func startUsage(t *Target) *usage {
	return &usage{target: t, server: t.cpu(), client: ownCPU(), start: time.Now()}
}

// stop ends the measurement.
func (u *usage) stop() {
	u.elapsed = time.Since(u.start)
	u.server, u.client = u.target.cpu()-u.server, ownCPU()-u.client
}

// rate is of ops operations, whose times are took.
func (u *usage) rate(ops int, took []time.Duration) Rate {
	slices.Sort(took)
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(max(1, ops)) }
	return Rate{
		Ops: ops, PerSecond: float64(ops) / u.elapsed.Seconds(),
		P50Ms: quantile(took, 0.50), P99Ms: quantile(took, 0.99),
		ServerCPUus: each(u.server), ClientCPUus: each(u.client),
	}
}

// quantile is in milliseconds.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(q*float64(len(sorted)-1))].Nanoseconds()) / 1e6
}
