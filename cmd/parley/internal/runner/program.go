// Package runner has the command run, which takes the turns of agents with a program, or runs a
// directory of blueprints.
//
//	root.AddCommand(runner.NewCommand(app))
package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/command"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/telemetry"
)

// programGrace is how long a program may take to end when its turn is over; it is killed before
// that.
const programGrace = command.StopWait + 2*time.Second

// TurnFlags are the flags of commands that take the turns of agents.
type TurnFlags struct {
	Agents, conversations []string
	executor, dir         string
	capacity              int
	turnTimeout, drain    time.Duration
	env                   []string
	pull, noToken         bool
	runner                runnerFlags
	telemetry             cli.TelemetryFlags
}

// NewCommand returns the command run.
func NewCommand(a *cli.App) *cobra.Command {
	var f TurnFlags
	c := &cobra.Command{
		Use:   "run --agent ID [flags] -- CMD [ARG...] | run --blueprints DIR [flags]",
		Short: "run a program as an agent, or run the agents of blueprints",
		Long: `run --agent starts CMD once for each turn of an agent, without a shell. The program reads one JSON
document from stdin: the conversation, and the events since its last turn. It answers with JSON
lines on stdout, such as {"text":"hello"}, and ends with exit code 0. Its stderr becomes traces. See
docs/guides/programs.md.

The program gets PATH, HOME, TZ, LANG and TMPDIR, PARLEY_AGENT, PARLEY_CONVERSATION and PARLEY_TURN,
PARLEY_URL with PARLEY_TOKEN, a token for this turn alone, TRACEPARENT if the turn is a part of a
trace, and the variables of --env; nothing else. When its time is over it gets SIGTERM and 2 s later
SIGKILL, with all processes that it started.

One line about each turn goes to stderr, or with -o json an object to stdout.

run --blueprints is a runner: each file of DIR describes a command and its parameters. 'parley
start' begins a session of one, the command runs once, and its stdout is the result. See
docs/guides/blueprints.md. The id of the runner is kept in DIR, so that it is known again. --check only
prints the faults of the files. A file of type agent is an LLM agent, which asks a model and uses
tools: docs/guides/llm.md. With --agent NAME it takes the seats of that name too, as it does of every agent
with triggers. The token must be able to speak as their names, and grant the workspaces that they
watch.

run continues until a signal stops it: then running turns have the time of --drain to end. After
that turns are released, and commands are killed and their sessions fail. Any number of processes
may run the same agent.`,
	}
	c.Args = func(c *cobra.Command, args []string) error {
		switch blueprints := c.Flags().Changed("blueprints"); {
		case blueprints && len(args) > 0:
			return errors.New("--blueprints goes without CMD: each file says what it runs")
		case !blueprints && len(args) == 0:
			return errors.New("no program to run: expected --agent ID -- CMD, or --blueprints DIR")
		}
		return nil
	}
	c.Flags().SetInterspersed(false) // flags behind CMD are the program's
	f.AddTo(c)
	c.Flags().DurationVar(&f.turnTimeout, "turn-timeout", 0,
		"time limit of the program (default: the limit of a claim in the conversation)")
	c.Flags().StringArrayVar(&f.env, "env", nil,
		"NAME=VALUE, a variable for the program, or NAME to pass a variable on; may be repeated")
	c.Flags().StringVar(&f.dir, "dir", "", "working directory of the program (default: the current directory)")
	c.Flags().BoolVar(&f.noToken, "no-token", false, "start the program without PARLEY_URL and PARLEY_TOKEN")
	f.runner.addTo(c)
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		if err := f.runner.checkFlags(c.Flags().Changed); err != nil {
			return err
		}
		if c.Flags().Changed("blueprints") {
			return runBlueprints(ctx, a, &f)
		}
		return runProgram(ctx, a, f, args)
	})
}

// AddTo adds the flags of every command that takes the turns of agents.
func (f *TurnFlags) AddTo(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.Agents, "agent", nil, "agent whose turns to take; may be repeated")
	c.Flags().StringSliceVar(&f.conversations, "conversation", nil,
		"conversation to take turns in; may be repeated (default: all)")
	c.Flags().IntVar(&f.capacity, "capacity", limits.DefaultCapacity, "number of turns to run at once")
	c.Flags().StringVar(&f.executor, "executor", "",
		"id of this process among those that run the agent (default: random)")
	c.Flags().DurationVar(&f.drain, "drain", 10*time.Second, "time that running turns have after a signal")
	c.Flags().BoolVar(&f.pull, "pull", false, "poll for turns instead of waiting for offers")
	f.telemetry.AddTo(c)
}

// OpenTelemetry opens the telemetry of the turns.
func (f *TurnFlags) OpenTelemetry(ctx context.Context, o *executors.Options) (context.Context, *telemetry.Telemetry,
	error) {
	return f.telemetry.Open(ctx, "parley-run", o.Logger)
}

func runProgram(ctx context.Context, a *cli.App, f TurnFlags, argv []string) error {
	agent, err := f.agent(argv)
	if err != nil {
		return err
	}
	o, err := f.Options()
	if err != nil {
		return err
	}
	o.Logger = slog.New(ExecutorLog{App: a})
	if err := HideEnvironment(); err != nil {
		return fmt.Errorf("hide the token of this process from the program: %w", err)
	}
	traced, told, err := f.OpenTelemetry(ctx, o)
	if err != nil {
		return err
	}
	defer told.Shutdown(context.WithoutCancel(ctx)) // spans that cannot be sent are in the log
	n := &cli.ConnectionNotices{}
	n.SendTo(func(text string) { a.Err.Line("-- " + text) })
	client, err := a.DialNotifying(ctx, f.Agents[0], n)
	if err != nil {
		return err
	}
	defer client.Close()
	a.Err.Linef("-- %s runs as %s", cli.Clean(argv[0]), cli.Clean(strings.Join(f.Agents, ", ")))
	return executors.Run(traced, client, ReportTurns(a, agent), o)
}

// agent returns the program, if it can be run.
func (f *TurnFlags) agent(argv []string) (*command.Agent, error) {
	agent := &command.Agent{Argv: argv, Dir: f.dir}
	if !f.noToken {
		agent.URL = cli.HubURL()
	}
	for _, v := range f.env {
		if !strings.Contains(v, "=") {
			value, ok := os.LookupEnv(v)
			if !ok {
				return nil, exit.Usagef("--env %s: no such variable; expected one that is set, or NAME=VALUE", cli.Clean(v))
			}
			v += "=" + value
		}
		if err := command.CheckVariable(v); err != nil {
			return nil, exit.Usagef("--env: %w", err)
		}
		agent.Env = append(agent.Env, v)
	}
	if err := checkScript(argv, f.dir); err != nil {
		return nil, err
	}
	if err := agent.Check(); err != nil {
		return nil, exit.Usage(err)
	}
	return agent, nil
}

// interpreters run the file that their first argument names, if that is no option.
var interpreters = regexp.MustCompile(`^(python|node|perl|ruby)[0-9.]*$`)

// checkScript refuses an interpreter with a missing file, because every turn would fail.
func checkScript(argv []string, dir string) error {
	if len(argv) < 2 || !interpreters.MatchString(filepath.Base(argv[0])) || strings.HasPrefix(argv[1], "-") {
		return nil
	}
	path := argv[1]
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return exit.Usagef("%s: no such file %q", cli.Clean(argv[0]), argv[1])
	}
	return nil
}

func (f *TurnFlags) Options() (*executors.Options, error) {
	o := &executors.Options{
		Agents: f.Agents, ExecutorID: f.executor, Capacity: f.capacity, TurnTimeout: f.turnTimeout, Drain: f.drain,
		Grace: programGrace,
	}
	switch {
	case len(f.Agents) == 0:
		return nil, exit.Usagef("--agent: expected at least one")
	case len(f.Agents) > limits.MaxExecutorAgents:
		return nil, exit.Usagef("--agent: expected at most %d", limits.MaxExecutorAgents)
	case f.pull && len(f.Agents) > 1:
		return nil, exit.Usagef("--pull takes the turns of one agent, the seat of that id: expected one --agent")
	case f.turnTimeout < 0:
		return nil, exit.Usagef("--turn-timeout %s: expected more than 0", f.turnTimeout)
	case f.executor != "" && !parley.ValidParticipantID(f.executor):
		return nil, exit.Usagef("--executor %s: expected 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit",
			cli.Clean(f.executor))
	}
	if err := f.checkCommon(); err != nil {
		return nil, err
	}
	for _, id := range f.Agents {
		if !parley.ValidParticipantID(id) {
			return nil, exit.Usagef("--agent %s: expected 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit",
				cli.Clean(id))
		}
	}
	for _, id := range f.conversations {
		if !parley.ValidConversationID(id) {
			return nil, exit.Usagef("--conversation %s: expected 1 to 64 of A-Z a-z 0-9 _ -", cli.Clean(id))
		}
	}
	if f.pull {
		o.Mode = parley.ModePull
	}
	o.Drain = drainOption(f.drain)
	if len(f.conversations) > 0 {
		o.Accept = func(id string) bool { return slices.Contains(f.conversations, id) }
	}
	return o, nil
}

// checkCommon holds the flags of both kinds of run against their bounds.
func (f *TurnFlags) checkCommon() error {
	switch {
	case f.capacity < 1 || f.capacity > limits.MaxCapacity:
		return exit.Usagef("--capacity %d: expected 1 to %d", f.capacity, limits.MaxCapacity)
	case f.drain < 0:
		return exit.Usagef("--drain %s: expected 0 or more", f.drain)
	}
	return nil
}

// drainOption is --drain as executors take it, for which 0 is their default.
func drainOption(drain time.Duration) time.Duration {
	if drain == 0 {
		return -1
	}
	return drain
}
