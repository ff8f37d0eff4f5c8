package main

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/bench"
)

// benchA2AServer is the command that serves the other echo.
const benchA2AServer = "bench-a2a-echo"

func (a *app) a2aCommand() *cobra.Command {
	var o bench.A2AOptions
	var p benchPlace
	c := &cobra.Command{
		Use:   "a2a",
		Short: "messages to an agent over A2A, beside the server of a2a-go",
		Long: `a2a starts a hub with --a2a as a process of its own, and one with the server of the library a2a-go. Both show an agent that says again what it is told; the library's says it at once
and keeps it in memory, the hub's takes its turn and the answer is durable. Connections send messages over JSON-RPC, one at a time on each, every one in a context of
its own, in turns to one and the other: first until the answer, then as streams, which are timed to their first event. All of it shares this machine.`,
	}
	c.Flags().IntSliceVar(&o.Conns, "conns", []int{1, 8, 64},
		"how many connections there are, one measurement for each number")
	c.Flags().IntVar(&o.Size, "size", 500, "bytes of text in a message")
	c.Flags().DurationVar(&o.Duration, "duration", 3*time.Second,
		"how long each number is measured; the other server gets the same")
	p.add(c)
	return benchDoes(a, c, &p, func(ctx context.Context) (*bench.A2AReport, error) {
		o.Memory, o.Dir, o.Server = p.Memory, p.Dir, benchA2AServer
		return bench.A2A(ctx, o, a.err.line)
	}, a.showA2A)
}

func (a *app) showA2A(r *bench.A2AReport) {
	line := func(name string, rate *bench.Rate, what string) {
		a.out.linef("%-11s %9.0f /s   p50 %6.2f ms   p99 %6.2f ms   %s, server CPU %.0f us each", name, rate.PerSecond,
			rate.P50Ms, rate.P99Ms, what, rate.ServerCPUus)
	}
	for _, row := range r.Rows {
		a.out.linef("connections  %8d      %s", row.Conns, durability(r.Journal))
		line("hub", &row.Send.Hub, "SendMessage to its answer")
		line("a2a-go", &row.Send.Other, "the same")
		a.out.linef("ratio       %s of the rate", row.SendRatio)
		line("hub", &row.First.Hub, "streams, timed to the first event")
		line("a2a-go", &row.First.Other, "the same")
		a.out.linef("ratio       %s of the time to the first event", row.FirstRatio)
	}
	a.showMachine(&r.Machine)
}

// a2aEchoCommand is the other server of bench a2a, run by it.
func (a *app) a2aEchoCommand() *cobra.Command {
	c := &cobra.Command{Use: benchA2AServer, Hidden: true, Args: cobra.NoArgs}
	return a.does(c, func(ctx context.Context) error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		s := &http.Server{Handler: a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(plainEcho{}, a2asrv.WithLogger(slog.New(slog.DiscardHandler))))}
		stop := context.AfterFunc(ctx, func() { _ = s.Close() })
		defer stop()
		if err := a.out.json(listening{URL: "http://" + l.Addr().String() + "/"}); err != nil {
			return errors.Join(err, l.Close())
		}
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
}

// plainEcho is an agent of the library that repeats its input: it returns the task, and its end
// with an artifact.
type plainEcho struct{}

// Execute says it.
func (plainEcho) Execute(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		answer := a2a.NewMessageForTask(a2a.MessageRoleAgent, x, x.Message.Parts...)
		_ = yield(a2a.NewSubmittedTask(x, x.Message), nil) &&
			yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateWorking, nil), nil) &&
			yield(a2a.NewArtifactEvent(x, x.Message.Parts...), nil) &&
			yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, answer), nil)
	}
}

// Cancel has nothing to stop.
func (plainEcho) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
	}
}
