package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/bench"
)

func (a *app) sessionCommand() *cobra.Command {
	var o bench.SessionOptions
	var p benchPlace
	c := &cobra.Command{
		Use:   "session",
		Short: "sessions per second of a command that does nothing, beside the bare command",
		Long: `session starts a hub and a runner, each as a process of its own, and lets connections start sessions of a command that does nothing (true), one after
another on each. A session is timed from startSession to its answer with the result: parameters checked, four events that are durable, the turn offered and
claimed, the command run under a supervisor. In the same run, in turns, the same number of goroutines start the bare command. All of it shares this machine.`,
	}
	c.Flags().IntSliceVar(&o.AtOnce, "at-once", []int{1, 8, 16},
		"how many sessions are under way at once, one measurement for each number")
	c.Flags().DurationVar(&o.Duration, "duration", 3*time.Second,
		"how long each number is measured; the bare command gets the same")
	p.add(c)
	return benchDoes(a, c, &p, func(ctx context.Context) (*bench.SessionReport, error) {
		o.Memory, o.Dir = p.Memory, p.Dir
		return bench.Session(ctx, o, a.err.line)
	}, a.showSessions)
}

func (a *app) showSessions(r *bench.SessionReport) {
	for _, s := range r.Sessions {
		a.out.linef("session     %9.0f /s   p50 %6.2f ms   p99 %6.2f ms   %d at once, %s, CPU of hub and runner %.0f us a session",
			s.Session.PerSecond, s.Session.P50Ms, s.Session.P99Ms, s.AtOnce, durability(r.Journal), s.Session.ServerCPUus)
		a.out.linef("bare        %9.0f /s   p50 %6.2f ms   p99 %6.2f ms   the same command, %d at once", s.Bare.PerSecond,
			s.Bare.P50Ms, s.Bare.P99Ms, s.AtOnce)
		a.out.linef("ratio       %s   %.2f ms more by the median", s.Ratio, s.ExtraMs)
	}
	a.showMachine(&r.Machine)
}
