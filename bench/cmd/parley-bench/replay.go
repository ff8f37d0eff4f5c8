package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/bench"
)

func (a *app) replayCommand() *cobra.Command {
	var o bench.ReplayRunOptions
	var p benchPlace
	var pages, ahead []int
	var subscribe bool
	c := &cobra.Command{
		Use:   "replay",
		Short: "one client that reads a whole conversation, beside bare frames of the same bytes",
		Long: `replay starts a hub, writes a conversation, and lets one client read all of it: by tail, for every pair of --page and --ahead, and by subscribe from
its beginning. In the same run, in turns, a bare server writes frames of the same length that were made before. The client runs on the same machine; it counts
events and decodes nothing.

With --url the hub is one that runs already. The conversation, whose name begins with bench-, is closed at the end.`,
	}
	f := c.Flags()
	f.IntVar(&o.Events, "events", 100_000, "events of the conversation")
	f.IntVar(&o.Size, "size", 500, "bytes of text in a message")
	f.IntSliceVar(&pages, "page", []int{500, 1000}, "events that tail is asked for at once")
	f.IntSliceVar(&ahead, "ahead", []int{1, 2}, "pages that are asked for at once")
	f.BoolVar(&subscribe, "subscribe", true, "read by subscribe too")
	f.IntVar(&o.Rounds, "rounds", 3, "how often each thing is measured")
	p.add(c)
	p.addURL(c)
	return benchDoes(a, c, &p, func(ctx context.Context) (*bench.ReplayReport, error) {
		o.Place = p.Place
		for _, page := range pages {
			for _, n := range ahead {
				if page < 1 || n < 1 {
					return nil, usagef("--page %d, --ahead %d: expected at least 1 of each", page, n)
				}
				o.By = append(o.By, bench.ReadBy{Page: page, Ahead: n})
			}
		}
		if subscribe {
			o.By = append(o.By, bench.ReadBy{})
		}
		return bench.ReplayRun(ctx, o, a.err.line)
	}, a.showReplay)
}

func (a *app) showReplay(r *bench.ReplayReport) {
	a.out.linef("%d events with %d B of text, %s", r.Events, r.Size, durability(r.Journal))
	for i := range r.Rows {
		row := &r.Rows[i]
		a.out.linef("replay      %9.0f /s   %s, frames of %d B, %s", row.Replay.PerSecond, row.By, row.FrameBytes,
			cpuOf(&row.Replay))
		a.out.linef("bare frames %9.0f /s   %s", row.Bare.PerSecond, cpuOf(&row.Bare))
		a.out.linef("ratio       %s", row.Ratio)
	}
	a.showMachine(&r.Machine)
}
