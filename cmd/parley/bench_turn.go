package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/bench"
)

func (a *app) benchTurnCommand() *cobra.Command {
	var o bench.TurnOptions
	var journal string
	c := &cobra.Command{
		Use:   "turn",
		Short: "turns per second of two agents that answer each other",
		Long: `turn starts a hub as a process of its own and lets two agents, whose executors are connected by WebSocket and wait for offers, answer each other. A
turn is timed from the acknowledgement of the final message before it to that of its own, and each means durable: between them the hub
offers the turn, the executor claims it, and replies at once. The executors run on the same machine and take their share of the CPU.`,
		Args: cobra.NoArgs,
	}
	c.Flags().IntSliceVar(&o.Conversations, "conversations", []int{1, 16, 128}, "how many conversations go on at once, one measurement for each number")
	c.Flags().DurationVar(&o.Duration, "duration", 3*time.Second, "how long each number is measured")
	c.Flags().StringVar(&journal, "journal", "bolt", "bolt (durable) or memory")
	c.Flags().StringVar(&o.Dir, "dir", "", "where the log is put for the run (default: the directory for temporary files)")
	return a.does(c, func(ctx context.Context, _ []string) error {
		return runBench(a, journal, func(memory bool) (*bench.TurnReport, error) {
			o.Memory = memory
			return bench.Turn(ctx, o, a.err.line)
		}, a.showTurns)
	})
}

func (a *app) showTurns(r *bench.TurnReport) {
	for _, t := range r.Turns {
		a.out.linef("turn        %9.0f /s   p50 %6.2f ms   p99 %6.2f ms   %d conversations, %s (%s), server CPU %.0f us a turn",
			t.PerSecond, t.P50Ms, t.P99Ms, t.Conversations, r.Journal, durability(r.Journal), t.ServerCPUus)
	}
	a.showMachine(r.FsyncBefore, r.FsyncAfter, r.LoadBefore, r.LoadAfter)
}

// durability says what an acknowledgement means.
func durability(journal string) string {
	if journal == "memory" {
		return "not durable"
	}
	return "durable"
}
