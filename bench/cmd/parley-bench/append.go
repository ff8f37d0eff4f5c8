package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/bench"
)

func (a *app) appendCommand() *cobra.Command {
	var o bench.AppendOptions
	var p benchPlace
	c := &cobra.Command{
		Use:   "append",
		Short: "durable appends per second, beside a bare WebSocket echo",
		Long: `append starts a hub and a WebSocket server that only echoes, each as a process of its own, and gives both the same connections with the same
number of calls in flight, in turns: every pair of --conns and --in-flight. An append counts when its acknowledgement was read, and that means durable.
For one call at a time its median stands beside that of bare appends to a file, each made durable. The client runs on the same machine and takes its share of the CPU.

With --url the hub is one that runs already. The conversations, whose names begin with bench-, are closed at the end.`,
	}
	f := c.Flags()
	f.IntSliceVar(&o.Conns, "conns", []int{1, 64, 256}, "numbers of connections")
	f.IntSliceVar(&o.InFlight, "in-flight", []int{1, 16}, "numbers of calls in flight on each connection")
	f.DurationVar(&o.Duration, "duration", 3*time.Second,
		"how long appends are measured for each pair; the echo gets the same")
	f.IntVar(&o.Size, "size", 500, "bytes of text in a message")
	f.IntVar(&o.Conversations, "conversations", 1000, "conversations that the appends are spread over")
	p.add(c)
	p.addURL(c)
	return benchDoes(a, c, &p, func(ctx context.Context) (*bench.AppendReport, error) {
		o.Place = p.Place
		return bench.Append(ctx, o, a.err.line)
	}, a.showAppend)
}

func (a *app) showAppend(r *bench.AppendReport) {
	a.out.linef("%d B of text in frames of %d B, %d conversations, %s", r.Size, r.FrameBytes, r.Conversations,
		durability(r.Journal))
	for i := range r.Rows {
		row := &r.Rows[i]
		a.out.linef("append      %9.0f /s   p50 %7.2f ms   p99 %7.2f ms   %d connections, %d in flight, %s",
			row.Append.PerSecond, row.Append.P50Ms, row.Append.P99Ms, row.Conns, row.InFlight, cpuOf(&row.Append))
		a.out.linef("bare echo   %9.0f /s   p50 %7.2f ms   p99 %7.2f ms   %s", row.Echo.PerSecond, row.Echo.P50Ms,
			row.Echo.P99Ms, cpuOf(&row.Echo))
		a.out.linef("ratio       %s", row.Ratio)
		if row.Sync != nil {
			a.out.linef("bare sync   %9.0f /s   p50 %7.2f ms   p99 %7.2f ms   an append takes %s times as long by the median",
				row.Sync.PerSecond, row.Sync.P50Ms, row.Sync.P99Ms, row.OverSync)
		}
	}
	a.showMachine(&r.Machine)
}
