// Package cli has the parts that all commands share: the run with its streams and output formats,
// the root command, and connections to hubs.
//
//	code := cli.Execute(ctx, args, streams, func(a *cli.App, root *cobra.Command) {
//		root.AddCommand(stats.NewCommand(a))
//	})
package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// DefaultTimeout bounds a call to the hub that has nothing to wait for.
const DefaultTimeout = 10 * time.Second

// App is one run of the program: its streams and the flags that all commands have.
type App struct {
	In       io.Reader
	Out, Err *Stream
	// Format is text or json.
	Format string
	// Timeout bounds calls that do not wait for others.
	Timeout time.Duration
	// started is set once the command line was understood; an error before that is one of usage.
	started bool
}

// Streams are the standard streams of a run.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Execute runs the command line args and returns the exit code. addCommands adds the commands to
// the root command.
func Execute(ctx context.Context, args []string, std Streams, addCommands func(a *App, root *cobra.Command)) int {
	a, root := NewProgram(std, addCommands)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !a.started {
		err = exit.Usage(err)
	}
	if failed := a.Out.WriteError(); err == nil && failed != nil {
		err = exit.WithHint(fmt.Errorf("stdout cannot be written: %w", failed),
			"the command succeeded, but its output could not be written")
	}
	return a.Report(ctx, err)
}

// NewProgram returns a run on the standard streams, and its root command.
func NewProgram(std Streams, addCommands func(a *App, root *cobra.Command)) (*App, *cobra.Command) {
	a := &App{In: std.In, Out: NewStream(std.Out), Err: NewStream(std.Err)}
	root := a.newRoot()
	root.SetIn(std.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	addCommands(a, root)
	return a, root
}

func (a *App) newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "parley",
		Short: "a conversation hub for agents",
		Long: `parley is a conversation hub for agents: append-only logs of conversations, and one rule for whose turn it is.

Start one and look:   parley demo
Start one and stay:   parley serve --dev

Commands that talk to a hub read PARLEY_URL (default ` + DefaultURL + `), PARLEY_TOKEN and PARLEY_AGENT,
and for TLS PARLEY_CA (further authorities), PARLEY_CERT and PARLEY_KEY (a client certificate).
Is something wrong?   parley doctor`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return checkFormat(a.Format)
		},
	}
	root.PersistentFlags().StringVarP(&a.Format, "output", "o", FormatText, "output format: text or json")
	root.PersistentFlags().DurationVar(&a.Timeout, "timeout", DefaultTimeout, "time limit of a call to the hub")
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(newHelpCommand())
	return root
}

// RunFunc is what a command does once its flags and arguments were understood.
type RunFunc func(ctx context.Context, args []string) error

// SetRun makes r the work of c.
func (a *App) SetRun(c *cobra.Command, r RunFunc) *cobra.Command {
	c.RunE = func(c *cobra.Command, args []string) error {
		a.started = true
		return r(c.Context(), args)
	}
	return c
}

// NewGroup makes a command that only holds others.
func NewGroup(c *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	c.Args = cobra.NoArgs
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(subs...)
	return c
}

// WithTimeout returns a context with the timeout of one call.
func (a *App) WithTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, a.Timeout, exit.ErrTimeout)
}
