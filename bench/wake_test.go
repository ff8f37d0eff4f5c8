package bench

import (
	"math"
	"slices"
	"testing"
)

// TestWakeReport: the cost of one waiter is the difference between an event with waiters and the
// same event with calls.
func TestWakeReport(t *testing.T) {
	cpu := func(us ...float64) (rates []Rate) {
		for _, one := range us {
			rates = append(rates, Rate{Ops: 1, ServerCPUus: one})
		}
		return rates
	}
	r := &WakeReport{Each: 10}
	r.fill([][]Rate{cpu(700, 800, 600), cpu(300, 300, 200), cpu(650, 700, 620), cpu(8, 8, 8)})
	got := []Spread{r.ExtraCPUus, r.PerWaiterCPUus, r.PerCallCPUus, r.BeyondCallCPUus}
	want := []Spread{{400, 400, 500}, {40, 40, 50}, {40, 35, 42}, {5, -2, 10}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, expected %v", got, want)
	}
	if got, want := r.BeyondCallMeanCPUus, (700.0-1970.0/3)/10; math.Abs(got-want) > 1e-9 {
		t.Errorf("over all it is %v, expected %v", got, want)
	}
	if got := []float64{r.Wake.ServerCPUus, r.Append.ServerCPUus, r.Call.ServerCPUus,
		r.Echo.ServerCPUus}; !slices.Equal(got, []float64{700, 300, 650, 8}) {
		t.Errorf("the rates are of %v", got)
	}
}
