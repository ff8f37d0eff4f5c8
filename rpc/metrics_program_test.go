package rpc_test

import (
	"maps"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/parleyhub/parley/rpc"
)

// TestProgramMetrics: /metrics has the counters of the program besides those of the hub, as they
// are at the time of the scrape.
func TestProgramMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0.0
		w := newWorld(t, &rpc.Options{Metrics: func() []rpc.Metric {
			calls++
			return []rpc.Metric{
				{Name: "parley_llm_calls_total", Help: "Calls.", Labels: []string{"model"},
					Series: []rpc.MetricSeries{{Values: []string{`gpt"4"`}, Value: calls}}},
				{Name: "parley_llm_call_duration_seconds", Help: "Time.", Buckets: []float64{0.5, 1},
					Series: []rpc.MetricSeries{{Count: 3, Sum: 4.5, Cumulative: []uint64{1, 2}}}},
				{Name: "parley_llm_nothing_total", Help: "Of which nothing was counted."},
			}
		}})
		for n := range 2 {
			want := idle()
			maps.Copy(want, map[string]float64{
				`parley_llm_calls_total{model="gpt\"4\""}`: float64(n + 1), "parley_llm_call_duration_seconds_count": 3,
				"parley_llm_call_duration_seconds_sum":              4.5,
				`parley_llm_call_duration_seconds_bucket{le="0.5"}`: 1, `parley_llm_call_duration_seconds_bucket{le="1"}`: 2,
				`parley_llm_call_duration_seconds_bucket{le="+Inf"}`: 3,
			})
			if d := cmp.Diff(want, series(t, w.scrape())); d != "" {
				t.Fatalf("(-want +got):\n%s", d)
			}
		}
	})
}
