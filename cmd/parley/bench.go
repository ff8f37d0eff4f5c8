package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/bench"
)

func (a *app) benchCommand() *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "measure a hub on this machine, beside what the machine can do"}
	return group(c, a.benchAppendCommand(), a.benchFanoutCommand(), a.benchReplayCommand(), a.benchIdleCommand(), a.benchWakeCommand(), a.benchColdstartCommand(), a.benchGrowthCommand(), a.benchTurnCommand(), a.benchSessionCommand(), a.benchMCPCommand(), a.benchA2ACommand())
}

// benchPlace is where a benchmark runs, as flags.
type benchPlace struct {
	bench.Place
	journal string
	url     string
	pid     int
}

func (p *benchPlace) add(c *cobra.Command) {
	c.Flags().StringVar(&p.journal, "journal", "bolt", "bolt (durable) or memory")
	c.Flags().StringVar(&p.Dir, "dir", "", "where the log is put for the run (default: the directory for temporary files)")
}

// addURL adds what is needed for a hub that runs already.
func (p *benchPlace) addURL(c *cobra.Command) {
	c.Flags().StringVar(&p.url, "url", "", "measure the hub that runs here, with the token of $"+envToken+", instead of one that is started for the run")
	c.Flags().IntVar(&p.pid, "pid", 0, "process of that hub, so that its CPU time can be told")
}

// resolve checks the flags and finds the hub.
func (p *benchPlace) resolve(c *cobra.Command) error {
	if p.journal != "bolt" && p.journal != "memory" {
		return usagef("--journal %s: expected bolt or memory", p.journal)
	}
	p.Memory = p.journal == "memory"
	if p.url == "" {
		if p.pid != 0 {
			return usagef("--pid is for --url")
		}
		return nil
	}
	if c.Flags().Changed("journal") || c.Flags().Changed("dir") {
		return usagef("--url measures a hub as it is: leave out --journal and --dir")
	}
	if strings.Contains(p.url, ",") {
		return usagef("--url %s: one hub is measured at a time", clean(p.url))
	}
	token := os.Getenv(envToken)
	if token == "" {
		return parley.Refuse(parley.ErrUnauthenticated, envToken+" is not set", "an admin's token, for --url")
	}
	config, err := clientTLS()
	if err != nil {
		return err
	}
	p.Hub = &bench.Target{URL: p.url, Token: token, TLS: config, PID: p.pid}
	return nil
}

// benchDoes makes a command of a benchmark that runs in a place.
func benchDoes[R any](a *app, c *cobra.Command, p *benchPlace, run func(context.Context) (R, error), show func(R)) *cobra.Command {
	return benchShows(a, c, func(ctx context.Context) (r R, err error) {
		if err := p.resolve(c); err != nil {
			return r, err
		}
		return run(ctx)
	}, show)
}

// benchShows makes a command of a benchmark, which is shown as text or as it is. Options that make no sense are wrong usage.
func benchShows[R any](a *app, c *cobra.Command, run func(context.Context) (R, error), show func(R)) *cobra.Command {
	c.Args = cobra.NoArgs
	return a.does(c, func(ctx context.Context, _ []string) error {
		r, err := run(ctx)
		var options *bench.OptionsError
		if errors.As(err, &options) {
			return &usageError{err}
		}
		if err != nil {
			return err
		}
		if a.format == formatJSON {
			return a.out.json(r)
		}
		show(r)
		return nil
	})
}

// showMachine shows what the disk and the processors did beside a benchmark.
func (a *app) showMachine(m *bench.Machine) {
	if m.FsyncBefore != nil && m.FsyncAfter != nil {
		a.out.linef("fsync       %9.0f /s before, %.0f /s after (4 KiB appends in the same directory)", m.FsyncBefore.PerSecond, m.FsyncAfter.PerSecond)
	}
	a.out.linef("load        %9s before, %s after", m.LoadBefore, m.LoadAfter)
}

// durability says where the log is, and what an acknowledgement means.
func durability(journal string) string {
	switch journal {
	case "memory":
		return "memory (not durable)"
	case "bolt":
		return "bolt (durable)"
	}
	return journal
}

// cpuOf says what an operation took of the processors.
func cpuOf(r *bench.Rate) string {
	if r.ServerCPUus == 0 {
		return fmt.Sprintf("client CPU %.1f us", r.ClientCPUus)
	}
	return fmt.Sprintf("server CPU %.1f us, client %.1f us", r.ServerCPUus, r.ClientCPUus)
}

// benchBareCommand is the other server of bench, run by it.
func (a *app) benchBareCommand() *cobra.Command {
	c := &cobra.Command{Use: "bench-bare", Hidden: true, Args: cobra.NoArgs}
	return a.does(c, func(ctx context.Context, _ []string) error {
		return bench.ServeBare(ctx, func(url string) error { return a.out.json(listening{URL: url}) })
	})
}

// benchFanCommand is the readers of bench fanout, run by it.
func (a *app) benchFanCommand() *cobra.Command {
	c := &cobra.Command{Use: "bench-fan", Hidden: true, Args: cobra.NoArgs}
	return a.does(c, func(ctx context.Context, _ []string) error {
		return bench.RunFan(ctx, a.in, func(answer any) error { return a.out.json(answer) })
	})
}
