package hub_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spantest"
)

// askedTracer counts how often it is asked whether a span is sampled.
type askedTracer struct {
	spantest.Recorder
	asked atomic.Int64
}

func (a *askedTracer) Samples(parley.SpanStart) bool {
	a.asked.Add(1)
	return true
}

// TestTracerIsAskedOnceForATurn: messages within a turn cost nothing for the span of the turn.
func TestTracerIsAskedOnceForATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracer, o := &askedTracer{}, rooted("x")
		o.Tracer = tracer
		h := startOn(t, newJournal(t), o)
		id := asked(t, h, nil)
		r := push(t, h, "r1", "a")
		c := r.claim()
		before := tracer.asked.Load()
		for i := range 50 {
			say(t, h, r.p, under(message(id, fmt.Sprint(i), parley.FinalityNone, ""), c.ClaimID))
		}
		if n := tracer.asked.Load() - before; n > 0 {
			t.Errorf("asked %d times for 50 messages", n)
		}
	})
}
