package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/bench"
)

func (a *app) coldstartCommand() *cobra.Command {
	var o bench.ColdstartOptions
	c := &cobra.Command{
		Use:   "coldstart",
		Short: "how long a hub with a long log takes to start, after an orderly end and after kill -9",
		Long: `coldstart makes a log by appends over sockets, and starts a hub on it: after an orderly end, after kill -9 under load, and, in turns, on a log with nothing in it.
Each start is timed from exec until the hub takes calls, and until the first append is durable and acknowledged. The kill comes shortly before the journal would bring its index up
to date. Files are in the page cache. 5,000,000 events take about 5 GB of disk and some time: with --dir the log stays there for the next run, and grows by what is appended before
each kill.`,
	}
	f := c.Flags()
	f.IntVar(&o.Events, "events", 5_000_000, "events that the log has at least")
	f.IntVar(&o.Conversations, "conversations", 1000, "conversations that they are spread over, none of them closed")
	f.IntVar(&o.Size, "size", 500, "bytes of text in a message")
	f.IntVar(&o.Rounds, "rounds", 3, "how often each start is measured")
	f.IntVar(&o.Unindexed, "unindexed", bench.MaxUnindexed,
		"new events at the kill, if the journal does not index them before")
	f.DurationVar(&o.Settle, "settle", 2*time.Second, "time of stable memory before it is measured")
	f.StringVar(&o.Keep, "dir", "", "directory of a log to create or use again (default: a temporary log)")
	return benchShows(a, c, func(ctx context.Context) (*bench.ColdstartReport, error) {
		return bench.Coldstart(ctx, o, a.err.line)
	}, a.showColdstart)
}

func (a *app) showColdstart(r *bench.ColdstartReport) {
	a.out.linef("%d events, %d conversations, log of %d MB", r.Events, r.Conversations, r.LogBytes/1e6)
	for _, s := range []struct {
		name  string
		start *bench.Start
	}{{"empty", &r.Empty}, {"clean", &r.Clean}, {"killed", &r.Killed}} {
		a.out.linef("%-8s    ready in %s ms, first append after %s ms, memory %.0f MiB then and %d MiB later",
			s.name, s.start.ReadyMs, s.start.AppendMs, s.start.MemoryKiB.Median/1024, s.start.SettledKiB>>10)
	}
	a.out.linef("beyond      %.1f ms clean, %.1f ms after a kill, to the first append, over an empty log",
		r.Clean.AppendMs.Median-r.Empty.AppendMs.Median, r.Killed.AppendMs.Median-r.Empty.AppendMs.Median)
	a.out.linef("unindexed   about %.0f events when it was killed (%.0f to %.0f)", r.UnindexedEvents.Median,
		r.UnindexedEvents.Min, r.UnindexedEvents.Max)
	a.showMachine(&r.Machine)
}
