package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/bench"
)

func (a *app) growthCommand() *cobra.Command {
	var o bench.GrowthOptions
	var p benchPlace
	c := &cobra.Command{
		Use:   "growth",
		Short: "durable appends, memory and files while the log grows",
		Long: `growth starts a hub with an empty log and appends to it over sockets until it has --events. In windows on the way it measures appends and, in turns, bare
echoes, and looks at the hub's memory and files. 4,000,000 events take about 4 GB of disk while it runs.`,
	}
	f := c.Flags()
	f.IntVar(&o.Events, "events", 4_000_000, "how many events the log has in the end")
	f.IntVar(&o.Windows, "windows", 5, "how often it is looked at, the beginning and the end included")
	f.DurationVar(&o.Duration, "duration", 3*time.Second,
		"how long appends are measured in each window; the echo gets the same")
	f.IntVar(&o.Conns, "conns", 64, "connections")
	f.IntVar(&o.InFlight, "in-flight", 16, "calls in flight on each connection")
	f.IntVar(&o.Size, "size", 500, "bytes of text in a message")
	f.IntVar(&o.Conversations, "conversations", 1000, "conversations that the appends are spread over")
	p.add(c)
	return benchDoes(a, c, &p, func(ctx context.Context) (*bench.GrowthReport, error) {
		o.Place = p.Place
		return bench.Growth(ctx, o, a.err.line)
	}, a.showGrowth)
}

func (a *app) showGrowth(r *bench.GrowthReport) {
	a.out.linef("%d connections, %d in flight, %d B of text, %d conversations, %s", r.Conns, r.InFlight, r.Size,
		r.Conversations, durability(r.Journal))
	for i := range r.Rows {
		row := &r.Rows[i]
		a.out.linef("%9d   append %7.0f /s, p99 %.1f ms, %s; ratio to bare echo %s; memory %d MiB and %d MiB of files; log %d MB, index %d MB",
			row.Events, row.Append.PerSecond, row.Append.P99Ms, cpuOf(&row.Append), row.Ratio, row.MemoryKiB>>10,
			row.MappedKiB>>10, row.LogBytes/1e6, row.IndexBytes/1e6)
	}
	a.out.linef("change      %s of the ratio from the first to the last, %.2f of the server's CPU", r.Change, r.ChangeCPU)
	a.showMachine(&r.Machine)
}
