package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// WakeOptions of a run of Wake.
type WakeOptions struct {
	Place
	// Waiters is the number of callers of waitForChange, each with its own socket, spread evenly over
	// the conversations.
	Waiters       int
	Conversations int
	// PerSecond is how many events go out in a second, on Drivers connections.
	PerSecond int
	Drivers   int
	// Duration is how long events go out to conversations with waiters; those without, those beside
	// which the waiters call, and a bare echo get the same.
	Duration time.Duration
}

func (o WakeOptions) check() error {
	switch {
	case o.Waiters < 1 || o.Waiters > maxSubscribers-1000:
		return fmt.Errorf("waiters: %d: expected 1 to %d", o.Waiters, maxSubscribers-1000)
	case o.Conversations < 1 || o.Conversations > o.Waiters:
		return fmt.Errorf("conversations: %d: expected 1 to %d, as many as there are waiters", o.Conversations, o.Waiters)
	case o.Waiters%o.Conversations != 0:
		return fmt.Errorf("waiters: %d: expected a multiple of the %d conversations", o.Waiters, o.Conversations)
	case o.Drivers < 1 || o.Drivers > o.Conversations || o.Drivers > 500:
		return fmt.Errorf("drivers: %d: expected 1 to %d", o.Drivers, min(500, o.Conversations))
	case o.PerSecond < 1 || o.PerSecond > 1_000_000:
		return fmt.Errorf("events per second: %d: expected 1 to 1000000", o.PerSecond)
	}
	return checkDuration(o.Duration)
}

// WakeReport is what a run of Wake measured.
type WakeReport struct {
	Waiters       int    `json:"waiters"`
	Conversations int    `json:"conversations"`
	Each          int    `json:"waitersOfOne"`
	Journal       string `json:"journal"`
	// Wake is of events to conversations with waiters; its times are from when an event was sent until
	// the answer to one waiter was read. Append is of events at the same pace to conversations
	// without; its times are from when one was sent until its acknowledgement.
	Wake   Rate `json:"wake"`
	Append Rate `json:"append"`
	// Call is of events at the same pace to conversations without waiters, behind each of which as
	// many waiters as an event wakes call waitForChange on their sockets, with an answer at once,
	// while they go on waiting; its times are from when these calls were sent until the answer to one
	// was read.
	Call Rate `json:"call"`
	// Echo is of bare echoes of frames of about the same length, on a few busy sockets: what the
	// transport alone can do.
	Echo Rate `json:"echo"`
	// ExtraCPUus is what an event with waiters takes of the server's processors beyond one without,
	// and PerWaiterCPUus that for each waiter: it is woken, answered, and calls again. PerCallCPUus is
	// what a call takes that is answered at once: it is read, decoded, answered, and the answer
	// written. BeyondCallCPUus is what waiting and being woken take beyond that.
	ExtraCPUus      Spread `json:"extraCpuUs"`
	PerWaiterCPUus  Spread `json:"perWaiterCpuUs"`
	PerCallCPUus    Spread `json:"perCallCpuUs"`
	BeyondCallCPUus Spread `json:"beyondCallCpuUs"`
	// BeyondCallMeanCPUus is that over all of the run: it has its share of what is in a few pieces
	// only, as the hub's collections of garbage are.
	BeyondCallMeanCPUus float64 `json:"beyondCallMeanCpuUs"`
	// KiBPerWaiter is resident memory of the hub for each waiter with its socket.
	KiBPerWaiter float64 `json:"kibPerWaiter,omitempty"`
	Machine
}

// Wake runs the benchmark.
func Wake(ctx context.Context, o WakeOptions, progress func(string)) (*WakeReport, error) {
	if err := o.check(); err != nil {
		return nil, &OptionsError{err}
	}
	r := &WakeReport{Waiters: o.Waiters, Conversations: o.Conversations, Each: o.Waiters / o.Conversations,
		Journal: o.journal()}
	return r, o.set(ctx, &r.Machine, func(s *stage) error { return s.measureWake(ctx, &o, r, progress) })
}

func (s *stage) measureWake(ctx context.Context, o *WakeOptions, r *WakeReport, progress func(string)) error {
	progress(fmt.Sprintf("making 3 x %d conversations, and %d waiters", o.Conversations, o.Waiters))
	awaited, err := makeConversations(ctx, &s.hub, o.Conversations)
	if err != nil {
		return err
	}
	alone, err := makeConversations(ctx, &s.hub, o.Conversations)
	if err != nil {
		return err
	}
	beside, err := makeConversations(ctx, &s.hub, o.Conversations)
	if err != nil {
		return err
	}
	before := residentKiB(s.self.pid(), false)
	w, err := newWaiting(ctx, s.hub, awaited, o.Waiters)
	if err != nil {
		return err
	}
	defer w.close()
	drivers, err := dialAll(ctx, &s.hub, "", 3*o.Drivers)
	if err != nil {
		return err
	}
	defer closeSockets(drivers)
	echoes, err := newLoad(ctx, s.bare, LoadOptions{Conns: min(256, o.Waiters), InFlight: 1, Size: 1, Conversations: 1},
		awaited[:1])
	if err != nil {
		return err
	}
	defer echoes.Close()
	progress(fmt.Sprintf("%d events a second for %s to conversations with %d waiters each, then to ones without, then the same beside %[3]d calls each, and echoes, in turns", o.PerSecond, o.Duration, r.Each))
	pause := time.Duration(o.Drivers) * time.Second / time.Duration(o.PerSecond)
	with := w.driven(drivers[:o.Drivers], pause)
	without := alonely(s.hub, drivers[o.Drivers:2*o.Drivers], alone, pause)
	calls := w.called(drivers[2*o.Drivers:], beside, pause)
	rates, err := alternate(ctx, o.Duration, with.slice, without.slice, calls.slice, echoes.slice)
	if err != nil {
		return errors.Join(err, w.failure())
	}
	r.fill(rates)
	r.KiBPerWaiter = float64(residentKiB(s.self.pid(), false)-before) / float64(o.Waiters)
	return nil
}

// fill takes what was measured in turns: events with waiters, events without, these with calls
// beside, and echoes.
func (r *WakeReport) fill(rates [][]Rate) {
	wake, alone, call := rates[0], rates[1], rates[2]
	r.Wake, r.Append, r.Call, r.Echo = Middle(wake), Middle(alone), Middle(call), Middle(rates[3])
	var extra, waiter, called, beyond []float64
	each := float64(r.Each)
	for i := range wake {
		e := wake[i].ServerCPUus - alone[i].ServerCPUus
		extra = append(extra, e)
		waiter = append(waiter, e/each)
		called = append(called, (call[i].ServerCPUus-alone[i].ServerCPUus)/each)
		beyond = append(beyond, (wake[i].ServerCPUus-call[i].ServerCPUus)/each)
	}
	r.ExtraCPUus, r.PerWaiterCPUus, r.PerCallCPUus, r.BeyondCallCPUus = SpreadOf(extra), SpreadOf(waiter),
		SpreadOf(called), SpreadOf(beyond)
	r.BeyondCallMeanCPUus = (meanCPU(wake) - meanCPU(call)) / each
}

// meanCPU is the server's CPU of one operation over all of some rates.
func meanCPU(rates []Rate) float64 {
	var us float64
	ops := 0
	for i := range rates {
		us += rates[i].ServerCPUus * float64(rates[i].Ops)
		ops += rates[i].Ops
	}
	return us / float64(max(1, ops))
}
