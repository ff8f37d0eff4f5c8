package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/bench"
)

func (a *app) idleCommand() *cobra.Command {
	var o bench.IdleOptions
	var p benchPlace
	c := &cobra.Command{
		Use:   "idle",
		Short: "memory of sockets on which nothing happens, beside bare ones",
		Long: `idle starts a hub, connects sockets that are authenticated and subscribed, waits until the hub's memory stands still, and divides. Memory of files,
as of the log, is not counted. That is done twice: with a hub as it is, whose memory has the garbage of connecting in it, and with one that collects garbage early (--gogc), so that
what sockets hold is left. And so it is done with a server that does nothing but hold sockets.`,
	}
	f := c.Flags()
	f.IntVar(&o.Sockets, "sockets", 10_000, "sockets")
	f.IntVar(&o.Conversations, "conversations", 1000, "conversations that they are subscribed to")
	f.IntVar(&o.GOGC, "gogc", 20, "garbage that the second hub leaves uncollected, in hundredths of what is in use")
	f.DurationVar(&o.Settle, "settle", 3*time.Second, "time of stable memory before it is measured")
	p.add(c)
	return benchDoes(a, c, &p, func(ctx context.Context) (*bench.IdleReport, error) {
		o.Place = p.Place
		return bench.Idle(ctx, o, a.err.line)
	}, a.showIdle)
}

func (a *app) showIdle(r *bench.IdleReport) {
	a.out.linef("idle        %9.1f KiB a socket   heap %.1f KiB, stacks %.1f KiB, %.2f goroutines; %d sockets, %d conversations, %s",
		r.KiBPerSocket, r.HeapKiBPerSocket, r.StackKiBPerSocket, r.GoroutinesPerSocket, r.Sockets, r.Conversations,
		durability(r.Journal))
	a.out.linef("bare        %9.1f KiB a socket   one goroutine that waits for 64 bytes", r.BareKiBPerSocket)
	a.out.linef("ratio       %9.2f", r.Ratio)
	a.out.linef("empty       %9d KiB, the hub with its conversations and no socket", r.EmptyKiB)
	a.out.linef("as it is    %9.1f KiB a socket   with the garbage of connecting", r.AsItIsKiBPerSocket)
	a.out.linef("connected   %9.0f /s, %s each: connected, authenticated, subscribed", r.Connect.PerSecond,
		cpuOf(&r.Connect))
	a.showMachine(&r.Machine)
}
