package hub_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/limits"
)

// waiting makes conversations in which it is the turn of an agent a that may run in one place only.
func waiting(b *testing.B, h *hub.Hub, n int, place parley.ExecutorPlace) {
	maker := h.LocalPrincipal("maker")
	for range n {
		create(b, h, maker, &parley.CreateConversationParams{Participants: []parley.Participant{{ID: "a",
			Kind: parley.KindAgent, Executor: place}}})
	}
}

// eager registers an executor of a with a large capacity, and returns the first n turns that it is
// offered.
func eager(b *testing.B, h *hub.Hub, n int) (*runner, []parley.RequestTurn) {
	offers := make(chan parley.RequestTurn, 2*n+1)
	r := &runner{t: b, h: h}
	r.conn = h.Connect(func(x parley.ExecutorNotification) {
		if x.RequestTurn == nil {
			return
		}
		select {
		case offers <- *x.RequestTurn:
		default: // no receiver waits for it
		}
	}, nil)
	r.p = h.LocalPrincipal("a").On(r.conn)
	r.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r", Agents: []string{"a"}, Mode: parley.ModePush,
		Capacity: limits.MaxCapacity})
	got := make([]parley.RequestTurn, 0, n)
	for range n {
		got = append(got, <-offers)
	}
	return r, got
}

// turnsOf takes n turns of a, one after the other, and returns the time of one.
func turnsOf(b *testing.B, h *hub.Hub, r *runner, n int) time.Duration {
	id := create(b, h, r.p, &parley.CreateConversationParams{Participants: []parley.Participant{{ID: "a",
		Kind: parley.KindAgent}}})
	start := time.Now()
	for range n {
		say(b, h, r.p, message(id, words, parley.FinalityNone, ""))
		say(b, h, r.p, message(id, words, parley.FinalityTurn, ""))
	}
	return time.Since(start) / time.Duration(n)
}

// BenchmarkTurnAmongWaiting: turns that wait for executors elsewhere cost nothing. ratio compares a
// turn among 2,000 such conversations with one among none.
func BenchmarkTurnAmongWaiting(b *testing.B) {
	alone, _ := benchHub(b)
	among, _ := benchHub(b)
	waiting(b, among, 2_000, parley.ExecutorInternal)
	few, _ := eager(b, alone, 0)
	many, _ := eager(b, among, 0)
	var base, took time.Duration
	for b.Loop() {
		base += turnsOf(b, alone, few, 100)
		took += turnsOf(b, among, many, 100)
	}
	b.ReportMetric(float64(took)/float64(base), "ratio")
}

// BenchmarkRegisterAmongWaiting: an executor comes that has room for all that waits, and is asked to take it. ns/offer is what one of 500 or 4,000 costs.
func BenchmarkRegisterAmongWaiting(b *testing.B) {
	for _, n := range []int{500, 4_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				h, _ := benchHub(b)
				waiting(b, h, n, parley.ExecutorAny)
				b.StartTimer()
				eager(b, h, n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/offer")
		})
	}
}

// BenchmarkDisconnectAmongClaims: a connection that holds nothing ends while others hold claims. ratio is that with 5,000 of these to none.
func BenchmarkDisconnectAmongClaims(b *testing.B) {
	alone, _ := benchHub(b)
	among, _ := benchHub(b)
	waiting(b, among, 5_000, parley.ExecutorAny)
	holder, offers := eager(b, among, 5_000)
	for _, o := range offers {
		holder.take(o.ConversationID, o.ClaimID)
	}
	if n := among.Counted().Claims; n != 5_000 {
		b.Fatalf("%d claims stand", n)
	}
	ends := func(h *hub.Hub) time.Duration {
		const n = 1_000
		connections := make([]*hub.Connection, n)
		for i := range connections {
			connections[i] = h.Connect(nil, nil)
		}
		start := time.Now()
		for _, c := range connections {
			c.Close()
		}
		return time.Since(start)
	}
	var base, took time.Duration
	for b.Loop() {
		base += ends(alone)
		took += ends(among)
	}
	b.ReportMetric(float64(took)/float64(base), "ratio")
}
