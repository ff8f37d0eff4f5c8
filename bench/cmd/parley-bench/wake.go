package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/bench"
)

func (a *app) wakeCommand() *cobra.Command {
	var o bench.WakeOptions
	var p benchPlace
	c := &cobra.Command{
		Use:   "wake",
		Short: "what it costs to wake those who wait for a change",
		Long: `wake starts a hub, and lets sockets call waitForChange, each again when it was answered. Events go out at a fixed pace to conversations with waiters and, in turns
in the same run, to as many without: the difference in the server's CPU time is what the waiters take. In turns too, beside events to conversations without waiters, as many
waiters as an event wakes make the same call on the same sockets with an answer at once: what a call takes anyhow, and what a wake-up takes beyond it. Bare echoes of frames
of about the same length, on a few busy sockets, say what the transport alone can do.`,
	}
	f := c.Flags()
	f.IntVar(&o.Waiters, "waiters", 10_000, "sockets that wait")
	f.IntVar(&o.Conversations, "conversations", 1000, "conversations that they wait for, each for one")
	f.IntVar(&o.PerSecond, "per-second", 500, "events a second")
	f.IntVar(&o.Drivers, "drivers", 16, "connections that they come from")
	f.DurationVar(&o.Duration, "duration", 6*time.Second, "how long each thing is measured")
	p.add(c)
	return benchDoes(a, c, &p, func(ctx context.Context) (*bench.WakeReport, error) {
		o.Place = p.Place
		return bench.Wake(ctx, o, a.err.line)
	}, a.showWake)
}

func (a *app) showWake(r *bench.WakeReport) {
	a.out.linef("%d waiters, %d for each of %d conversations, %s", r.Waiters, r.Each, r.Conversations,
		durability(r.Journal))
	a.out.linef("with        %9.0f /s   p50 %7.2f ms   p99 %7.2f ms   from an event to the answer of a waiter, %s an event", r.Wake.PerSecond, r.Wake.P50Ms, r.Wake.P99Ms, cpuOf(&r.Wake))
	a.out.linef("without     %9.0f /s   p50 %7.2f ms   p99 %7.2f ms   from an event to its acknowledgement, %s an event",
		r.Append.PerSecond, r.Append.P50Ms, r.Append.P99Ms, cpuOf(&r.Append))
	a.out.linef("calls       %9.0f /s   p50 %7.2f ms   p99 %7.2f ms   from a call that is answered at once to its answer, %s an event with %d calls", r.Call.PerSecond, r.Call.P50Ms, r.Call.P99Ms, cpuOf(&r.Call), r.Each)
	a.out.linef("bare echo   %9.0f /s   %s", r.Echo.PerSecond, cpuOf(&r.Echo))
	a.out.linef("waiters     %s us of the server's CPU an event", r.ExtraCPUus)
	a.out.linef("one waiter  %s us: woken, answered, calls again; beyond a call that is answered at once %s us, %.2f over all", r.PerWaiterCPUus, r.BeyondCallCPUus, r.BeyondCallMeanCPUus)
	a.out.linef("one call    %s us: answered at once", r.PerCallCPUus)
	a.out.linef("memory      %9.1f KiB a waiter, its socket included", r.KiBPerWaiter)
	a.showMachine(&r.Machine)
}
