package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/bench"
)

func (a *app) benchCommand() *cobra.Command {
	return group(&cobra.Command{Use: "bench", Short: "measure a hub on this machine"}, a.benchAppendCommand(), a.benchTurnCommand(), a.benchSessionCommand())
}

func (a *app) benchAppendCommand() *cobra.Command {
	var o bench.Options
	var journal string
	c := &cobra.Command{
		Use:   "append",
		Short: "durable appends per second, beside a bare WebSocket echo",
		Long: `append starts a hub and a WebSocket server that only echoes, each as a process of its own, and gives both the same number of
connections with one call in flight on each, in turns. An append counts when its acknowledgement was read, and that means durable.
The client runs on the same machine and takes its share of the CPU.`,
		Args: cobra.NoArgs,
	}
	c.Flags().IntVar(&o.Conns, "conns", 256, "connections, each with one call in flight")
	c.Flags().DurationVar(&o.Duration, "duration", 3*time.Second, "how long appends are measured; the echo gets the same")
	c.Flags().IntVar(&o.Size, "size", 500, "bytes of text in a message")
	c.Flags().IntVar(&o.Conversations, "conversations", 1000, "conversations that the appends are spread over")
	c.Flags().StringVar(&journal, "journal", "bolt", "bolt (durable) or memory")
	c.Flags().StringVar(&o.Dir, "dir", "", "where the log is put for the run (default: the directory for temporary files)")
	return a.does(c, func(ctx context.Context, _ []string) error {
		return runBench(a, journal, func(memory bool) (*bench.Report, error) {
			o.Memory = memory
			return bench.Append(ctx, o, a.err.line)
		}, a.showBench)
	})
}

// runBench runs a benchmark on the journal that was asked for, and shows what came of it.
func runBench[R any](a *app, journal string, run func(memory bool) (R, error), show func(R)) error {
	if err := checkJournal(journal); err != nil {
		return err
	}
	r, err := run(journal == "memory")
	if err != nil {
		return err
	}
	if a.format == formatJSON {
		return a.out.json(r)
	}
	show(r)
	return nil
}

// showMachine shows what the disk and the processors did beside a benchmark.
func (a *app) showMachine(fsyncBefore, fsyncAfter float64, loadBefore, loadAfter string) {
	a.out.linef("fsync       %9.0f /s before, %.0f /s after (4 KiB appends in the same directory)", fsyncBefore, fsyncAfter)
	a.out.linef("load        %9s before, %s after", loadBefore, loadAfter)
}

func checkJournal(journal string) error {
	if journal != "bolt" && journal != "memory" {
		return usagef("--journal %s: expected bolt or memory", journal)
	}
	return nil
}

func (a *app) showBench(r *bench.Report) {
	a.out.linef("append      %9.0f /s   p50 %6.2f ms   p99 %6.2f ms   %d connections, %d B of text, %d conversations, %s (%s)",
		r.Append.PerSecond, r.Append.P50Ms, r.Append.P99Ms, r.Conns, r.Size, r.Conversations, r.Journal, durability(r.Journal))
	a.out.linef("bare echo   %9.0f /s   p50 %6.2f ms   p99 %6.2f ms   the same frames of %d B both ways",
		r.Echo.PerSecond, r.Echo.P50Ms, r.Echo.P99Ms, r.FrameBytes)
	a.out.linef("ratio       %9.2f", r.Ratio)
	a.out.linef("server CPU  %9.1f us an append, %.1f us an echo", r.Append.ServerCPUus, r.Echo.ServerCPUus)
	a.showMachine(r.FsyncBefore, r.FsyncAfter, r.LoadBefore, r.LoadAfter)
}

// benchEchoCommand is the other server of bench, run by it.
func (a *app) benchEchoCommand() *cobra.Command {
	c := &cobra.Command{Use: "bench-echo", Hidden: true, Args: cobra.NoArgs}
	return a.does(c, func(ctx context.Context, _ []string) error {
		return bench.ServeEcho(ctx, func(url string) error { return a.out.json(listening{URL: url}) })
	})
}
