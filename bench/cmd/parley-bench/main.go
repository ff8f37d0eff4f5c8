// Command parley-bench measures what a hub carries on this machine, beside what the machine itself
// can do in the same run:
//
//	parley-bench append --conns 64
//
// It starts hubs with the program parley that lies beside it, or else the one in PATH.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/bench"
)

// The variables that the client of a running hub reads, as parley does.
const (
	envToken = "PARLEY_TOKEN"
	envCA    = "PARLEY_CA"
	envCert  = "PARLEY_CERT"
	envKey   = "PARLEY_KEY"
)

// The exit codes. They are those of parley.
const (
	exitFailure = 1
	exitUsage   = 2
)

const (
	formatText = "text"
	formatJSON = "json"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// run executes one command and returns the exit code.
func run(ctx context.Context, args []string) int {
	a := &app{in: os.Stdin, out: output{os.Stdout}, err: output{os.Stderr}}
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	a.err.line("parley-bench: " + err.Error())
	if usage := (*usageError)(nil); !a.started || errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailure
}

// app is one run of the program: its streams and the flag that all commands have.
type app struct {
	in       io.Reader
	out, err output
	format   string // text or json
	started  bool   // the command line was valid
}

// output writes whole lines to stdout or stderr.
type output struct{ io.Writer }

func (o output) line(text string) { io.WriteString(o, text+"\n") }

func (o output) linef(format string, args ...any) { o.line(fmt.Sprintf(format, args...)) }

func (o output) json(v any) error { return json.NewEncoder(o).Encode(v) }

// usageError is an invalid command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "parley-bench",
		Short: "Measure a hub on this machine",
		Long: `parley-bench measures what a hub carries on this machine, beside what the machine can do in the
same run. It starts hubs with the program parley that lies beside it, or else the one in PATH.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if a.format != formatText && a.format != formatJSON {
				return usagef("invalid -o %q (expected: text or json)", a.format)
			}
			return nil
		},
	}
	root.PersistentFlags().StringVarP(&a.format, "output", "o", formatText, "format of stdout: text or json")
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(
		a.appendCommand(), a.fanoutCommand(), a.replayCommand(), a.idleCommand(), a.wakeCommand(), a.coldstartCommand(),
		a.growthCommand(), a.turnCommand(), a.sessionCommand(), a.mcpCommand(), a.a2aCommand(),
		a.bareCommand(), a.fanCommand(), a.a2aEchoCommand(),
	)
	return root
}

// does makes work what c does once its flags are valid.
func (a *app) does(c *cobra.Command, work func(context.Context) error) *cobra.Command {
	c.RunE = func(c *cobra.Command, _ []string) error {
		a.started = true
		return work(c.Context())
	}
	return c
}

// listening is the line in which a server that this program starts reports its address.
type listening struct {
	URL string `json:"url"`
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
	c.Flags().StringVar(&p.url, "url", "",
		"measure the hub that runs here, with the token of $"+envToken+", instead of one that is started for the run")
	c.Flags().IntVar(&p.pid, "pid", 0, "process id of that hub, to measure its CPU time")
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
		return usagef("--url %q: one hub is measured at a time", p.url)
	}
	token := os.Getenv(envToken)
	if token == "" {
		return usagef("%s is not set (expected: an admin token, for --url)", envToken)
	}
	config, err := clientTLS()
	if err != nil {
		return err
	}
	p.Hub = &bench.Target{URL: p.url, Token: token, TLS: config, PID: p.pid}
	return nil
}

// clientTLS returns the TLS settings of connections to a running hub. They come from the same
// variables that parley reads.
func clientTLS() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := os.Getenv(envCA); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", envCA, err)
		}
		if config.RootCAs, err = x509.SystemCertPool(); err != nil {
			config.RootCAs = x509.NewCertPool()
		}
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: no certificate in %s", envCA, file)
		}
	}
	cert, key := os.Getenv(envCert), os.Getenv(envKey)
	if cert == "" && key == "" {
		return config, nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", envCert, envKey, err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// benchDoes makes a command of a benchmark that runs in a place.
func benchDoes[R any](a *app, c *cobra.Command, p *benchPlace, run func(context.Context) (R, error),
	show func(R)) *cobra.Command {
	return benchShows(a, c, func(ctx context.Context) (r R, err error) {
		if err := p.resolve(c); err != nil {
			return r, err
		}
		return run(ctx)
	}, show)
}

// benchShows makes a command of a benchmark, which is shown as text or as it is. Options that make
// no sense are wrong usage.
func benchShows[R any](a *app, c *cobra.Command, run func(context.Context) (R, error), show func(R)) *cobra.Command {
	c.Args = cobra.NoArgs
	return a.does(c, func(ctx context.Context) error {
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
		a.out.linef("fsync       %9.0f /s before, %.0f /s after (4 KiB appends in the same directory)",
			m.FsyncBefore.PerSecond, m.FsyncAfter.PerSecond)
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

// bareCommand is the other server of bench, run by it.
func (a *app) bareCommand() *cobra.Command {
	c := &cobra.Command{Use: "bench-bare", Hidden: true, Args: cobra.NoArgs}
	return a.does(c, func(ctx context.Context) error {
		return bench.ServeBare(ctx, func(url string) error { return a.out.json(listening{URL: url}) })
	})
}

// fanCommand is the readers of bench fanout, run by it.
func (a *app) fanCommand() *cobra.Command {
	c := &cobra.Command{Use: "bench-fan", Hidden: true, Args: cobra.NoArgs}
	return a.does(c, func(ctx context.Context) error {
		return bench.RunFan(ctx, a.in, func(answer any) error { return a.out.json(answer) })
	})
}
