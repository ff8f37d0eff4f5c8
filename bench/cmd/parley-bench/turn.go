package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/bench"
)

func (a *app) turnCommand() *cobra.Command {
	var o bench.TurnOptions
	var p benchPlace
	c := &cobra.Command{
		Use:   "turn",
		Short: "turns per second of two agents that answer each other",
		Long: `turn starts a hub as a process of its own and lets two agents, whose executors are connected by WebSocket and wait for offers, answer each other. A
turn is timed from the acknowledgement of the final message before it to that of its own, and each means durable: between them the hub
offers the turn, the executor claims it, and replies at once. The executors run on the same machine and take their share of the CPU.`,
	}
	c.Flags().IntSliceVar(&o.Conversations, "conversations", []int{1, 16, 128},
		"how many conversations go on at once, one measurement for each number")
	c.Flags().DurationVar(&o.Duration, "duration", 3*time.Second, "how long each number is measured")
	p.add(c)
	return benchDoes(a, c, &p, func(ctx context.Context) (*bench.TurnReport, error) {
		o.Memory, o.Dir = p.Memory, p.Dir
		return bench.Turn(ctx, o, a.err.line)
	}, a.showTurns)
}

func (a *app) showTurns(r *bench.TurnReport) {
	for _, t := range r.Turns {
		a.out.linef("turn        %9.0f /s   p50 %6.2f ms   p99 %6.2f ms   %d conversations, %s, server CPU %.0f us a turn",
			t.PerSecond, t.P50Ms, t.P99Ms, t.Conversations, durability(r.Journal), t.ServerCPUus)
	}
	a.showMachine(&r.Machine)
}
