package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// defaultTimeout bounds a call to the hub that has nothing to wait for.
const defaultTimeout = 10 * time.Second

// app is one run of the program: its streams and the flags that all commands have.
type app struct {
	in       io.Reader
	out, err *stream
	// format is text or json.
	format string
	// timeout bounds calls that do not wait for others.
	timeout time.Duration
	// started is set once the command line was understood; an error before that is one of usage.
	started bool
}

// streams are the standard streams of a run.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// execute runs the command line args and returns the exit code. addCommands adds the commands to the root command.
func execute(ctx context.Context, args []string, std streams, addCommands func(a *app, root *cobra.Command)) int {
	a, root := newProgram(std, addCommands)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !a.started {
		err = asUsage(err)
	}
	if failed := a.out.failure(); err == nil && failed != nil {
		err = withHint(fmt.Errorf("stdout cannot be written: %w", failed), "what was asked for was done, but not told")
	}
	return a.report(ctx, err)
}

// newProgram returns a run on the standard streams, and its root command.
func newProgram(std streams, addCommands func(a *app, root *cobra.Command)) (*app, *cobra.Command) {
	a := &app{in: std.in, out: newStream(std.out), err: newStream(std.err)}
	root := a.newRoot()
	root.SetIn(std.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	addCommands(a, root)
	return a, root
}

func (a *app) newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "parley",
		Short: "a conversation hub for agents",
		Long: `parley is a conversation hub for agents: append-only logs of conversations, and one rule for whose turn it is.

Start one and look:   parley demo
Start one and stay:   parley serve --dev

Commands that talk to a hub read PARLEY_URL (default ` + defaultURL + `), PARLEY_TOKEN and PARLEY_AGENT, and for TLS
PARLEY_CA (further authorities), PARLEY_CERT and PARLEY_KEY (a client certificate). Is something wrong?   parley doctor`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return checkFormat(a.format)
		},
	}
	root.PersistentFlags().StringVarP(&a.format, "output", "o", formatText, "what stdout gets: text or json")
	root.PersistentFlags().DurationVar(&a.timeout, "timeout", defaultTimeout, "how long a call to the hub may take")
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(helpCommand())
	return root
}

// runner is what a command does once its flags and arguments were understood.
type runner func(ctx context.Context, args []string) error

// does makes r the work of c.
func (a *app) does(c *cobra.Command, r runner) *cobra.Command {
	c.RunE = func(c *cobra.Command, args []string) error {
		a.started = true
		return r(c.Context(), args)
	}
	return c
}

// group makes a command that only holds others.
func group(c *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	c.Args = cobra.NoArgs
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(subs...)
	return c
}

// within gives ctx the bound of one call.
func (a *app) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, a.timeout, errTimeout)
}
