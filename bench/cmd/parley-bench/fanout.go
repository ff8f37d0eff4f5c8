package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/bench"
)

func (a *app) fanoutCommand() *cobra.Command {
	var o bench.FanoutOptions
	var p benchPlace
	c := &cobra.Command{
		Use:   "fanout",
		Short: "events to many subscribers of one conversation, beside bare writes of frames made before",
		Long: `fanout starts a hub and lets many sockets subscribe to one conversation. In bursts, events are appended as fast as they go, and deliveries counted; paced,
one event goes out after another, timed from when it was sent until the last subscriber had it. In the same run, in turns, a bare server writes frames that were made before to
as many sockets: one write for each, and in bursts also one write for 16 of them. Who reads is a process of its own on the same machine and takes its share of the CPU.`,
	}
	f := c.Flags()
	f.IntSliceVar(&o.Subscribers, "subscribers", []int{100, 1000, 10_000}, "numbers of subscribers")
	f.IntVar(&o.Deliveries, "deliveries", 500_000, "about how many deliveries one burst makes")
	f.IntVar(&o.Paced, "paced", 50, "events that go out one by one in each round")
	f.DurationVar(&o.Pause, "pause", 10*time.Millisecond, "time from one of them to the next, for up to 1000 subscribers")
	f.IntVar(&o.Rounds, "rounds", 3, "how often each thing is measured")
	f.IntVar(&o.Size, "size", 500, "bytes of text in a message")
	p.add(c)
	return benchDoes(a, c, &p, func(ctx context.Context) (*bench.FanoutReport, error) {
		o.Place = p.Place
		return bench.Fanout(ctx, o, a.err.line)
	}, a.showFanout)
}

func (a *app) showFanout(r *bench.FanoutReport) {
	a.out.linef("%d B of text, frames of %d B, %s", r.Size, r.FrameBytes, durability(r.Journal))
	for i := range r.Rows {
		row := &r.Rows[i]
		a.out.linef("burst       %9.0f /s deliveries   %d subscribers, %d events, %s", row.Burst.PerSecond, row.Subscribers,
			row.Events, cpuOf(&row.Burst))
		a.out.linef("bare writes %9.0f /s              %s", row.Bare.PerSecond, cpuOf(&row.Bare))
		a.out.linef("16 at once  %9.0f /s              %s", row.BareCoalesced.PerSecond, cpuOf(&row.BareCoalesced))
		a.out.linef("ratio       %s to bare writes, %s to those of 16 at once", row.Ratio, row.RatioCoalesced)
		a.out.linef("paced       p50 %7.2f ms   p99 %7.2f ms until the last has it, %s a delivery", row.Paced.P50Ms,
			row.Paced.P99Ms, cpuOf(&row.Paced))
		a.out.linef("bare writes p50 %7.2f ms   p99 %7.2f ms   %s", row.PacedBare.P50Ms, row.PacedBare.P99Ms,
			cpuOf(&row.PacedBare))
		a.out.linef("ratio       %s of the 99th percentiles", row.PacedRatio)
	}
	a.showMachine(&r.Machine)
}
