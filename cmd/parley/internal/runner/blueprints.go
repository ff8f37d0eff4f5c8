package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/agents"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/blueprint"
	"github.com/parleyhub/parley/internal/limits"
)

// runnerFlags are those of run --blueprints.
type runnerFlags struct {
	dir, id string
	labels  []string
	grace   time.Duration
	check   bool
	models  ModelFlags
}

func (f *runnerFlags) addTo(c *cobra.Command) {
	c.Flags().StringVar(&f.dir, "blueprints", "",
		"directory of blueprints to run: commands, workflows and LLM agents")
	c.Flags().StringArrayVar(&f.labels, "label", nil,
		"with --blueprints: NAME=VALUE, a label of this runner that sessions can demand; may be repeated")
	c.Flags().StringVar(&f.id, "runner", "", "with --blueprints: id of the runner (default: the id stored in DIR)")
	c.Flags().DurationVar(&f.grace, "grace", limits.OfflineMs*time.Millisecond,
		"with --blueprints: time that commands and sessions survive while the hub is unreachable")
	f.models.AddTo(c, "with --blueprints: ")
	c.Flags().BoolVar(&f.check, "check", false, "with --blueprints: print the faults of the files, and run nothing")
}

// checkFlags refuses flags of one kind of run with the other.
func (f *runnerFlags) checkFlags(given func(flag string) bool) error {
	if !given("blueprints") {
		for _, flag := range []string{"label", "runner", "grace", "check", "models", "replay", "replay-mode"} {
			if given(flag) {
				return exit.Usagef("--%s goes with --blueprints", flag)
			}
		}
		return nil
	}
	for flag, instead := range map[string]string{
		"conversation": "every session is a separate conversation", "executor": "its name is --runner",
		"pull": "sessions are offered", "turn-timeout": "each file has its timeout",
		"env": "each file has its env", "dir": "each file has its cwd",
	} {
		if given(flag) {
			return exit.Usagef("--%s does not go with --blueprints: %s", flag, instead)
		}
	}
	return f.models.Check(given)
}

// options are those of the executor, without what is known only when the agents are made.
func (f *TurnFlags) runnerOptions() (*executors.Options, error) {
	if err := f.checkCommon(); err != nil {
		return nil, err
	}
	labels, err := cli.ParseLabels("--label", f.runner.labels)
	if err != nil {
		return nil, err
	}
	grace := f.runner.grace.Milliseconds()
	switch {
	case f.runner.id != "" && !parley.ValidParticipantID(f.runner.id):
		return nil, exit.Usagef("--runner %s: expected 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit",
			cli.Clean(f.runner.id))
	case grace < limits.MinGraceMs || grace > limits.MaxGraceMs:
		return nil, exit.Usagef("--grace %s: expected %dms to %s", f.runner.grace, limits.MinGraceMs,
			limits.MaxGraceMs*time.Millisecond)
	}
	return &executors.Options{
		Agents: append([]string{}, f.Agents...), Labels: labels, Capacity: f.capacity, Grace: Grace, GraceMs: grace,
		Drain: drainOption(f.drain),
	}, nil
}

// Grace is how long a command may take to end when its turn is over; it is killed before that.
const Grace = blueprint.StopWait + 2*time.Second

func runBlueprints(ctx context.Context, a *cli.App, f *TurnFlags) error {
	if f.runner.check {
		return CheckDirectory(a, f.runner.dir, &f.runner.models)
	}
	o, err := f.runnerOptions()
	if err != nil {
		return err
	}
	if set, faults := blueprint.Load(f.runner.dir); len(set.Files) == 0 { // before anything is kept there
		return checkUsable(a, nil, faults)
	}
	if o.ExecutorID = f.runner.id; o.ExecutorID == "" {
		id, release, err := blueprint.RunnerID(f.runner.dir)
		if err != nil {
			return exit.WithHint(err, "--runner sets another id, which is not kept")
		}
		defer release()
		o.ExecutorID = id
	}
	o.Logger = slog.New(ExecutorLog{App: a})
	all, err := makeAgents(a, f, o)
	if err != nil {
		return err
	}
	return errors.Join(runAgents(ctx, a, f, o, all), all.Close())
}

// makeAgents makes the agents of the directory.
func makeAgents(a *cli.App, f *TurnFlags, o *executors.Options) (*Blueprints, error) {
	commands := &blueprint.Options{}
	if !f.noToken {
		commands.URL = cli.HubURL()
	}
	all, faults,
		err := LoadBlueprints(f.runner.dir, &f.runner.models,
		&agents.Options{RunnerID: o.ExecutorID, Commands: commands, Meter: Meter, Logger: o.Logger})
	if err != nil {
		return nil, explainModels(a, err)
	}
	err = checkUsable(a, all.Files, slices.Concat(faults, all.Absent, all.Warnings))
	for _, name := range f.Agents {
		if err == nil && !slices.Contains(all.Seats(), name) {
			err = exit.Usagef("--agent %s: expected an LLM agent of %s, or one with subscriptions: %s", cli.Clean(name),
				cli.Clean(f.runner.dir), listNames(all.Seats()))
		}
	}
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	for _, name := range all.Subscribed() {
		if !slices.Contains(o.Agents, name) {
			o.Agents = append(o.Agents, name)
		}
	}
	o.Blueprints = all.Blueprints()
	return all, nil
}

// listNames lists names.
func listNames(names []string) string {
	if len(names) == 0 {
		return "there is none"
	}
	return cli.Clean(strings.Join(names, ", "))
}

// runAgents runs them until ctx ends.
func runAgents(ctx context.Context, a *cli.App, f *TurnFlags, o *executors.Options, all *Blueprints) error {
	if err := HideEnvironment(); err != nil {
		return fmt.Errorf("hide the token of this process from the commands: %w", err)
	}
	traced, told, err := f.OpenTelemetry(ctx, o)
	if err != nil {
		return err
	}
	defer told.Shutdown(context.WithoutCancel(ctx)) // spans that cannot be sent are in the log
	n := &cli.ConnectionNotices{}
	n.SendTo(func(text string) { a.Err.Line("-- " + text) })
	client, err := a.DialNotifying(ctx, "", n)
	if err != nil {
		return err
	}
	defer client.Close()
	a.Err.Linef("-- %s runs %s of %s", o.ExecutorID, cli.Count(int64(len(all.Files)), "blueprint"),
		cli.Clean(f.runner.dir))
	o.Registered = (&NameReporter{Report: func(text string) { a.Err.Line("-- " + text) }, Runner: o.ExecutorID}).Registered
	return executors.Run(traced, client,
		SplitTurns(&SessionReporter{Agent: all, Report: func(t *SessionReport) { printSession(a, t) }}, ReportTurns(a, all)),
		o)
}

// SplitTurns passes the turns of sessions to one agent, and those of seats to another.
func SplitTurns(sessions, seats parley.Agent) parley.Agent {
	return parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		if strings.HasPrefix(turn.ConversationID, "ses_") {
			return sessions.HandleTurn(ctx, turn)
		}
		return seats.HandleTurn(ctx, turn)
	})
}

// checkUsable prints faults on stderr, and refuses a directory without a usable blueprint.
func checkUsable(a *cli.App, files []*blueprint.File, faults []blueprint.Fault) error {
	if len(files) > 0 || len(faults) > 1 && a.Format != cli.FormatJSON { // the error has a single one
		for _, f := range faults {
			a.Err.Line("-- " + cli.Clean(f.String()))
		}
	}
	if len(files) > 0 {
		return nil
	}
	hint := "'parley schema blueprint' says what one is, 'parley wrap' makes one of a command line"
	if len(faults) > 1 {
		hint = "'parley run --blueprints DIR --check' prints all faults, " + hint
	}
	return exit.WithHint(NoBlueprintError(faults), hint)
}

// NoBlueprintError is the error of a directory of which nothing can be run.
func NoBlueprintError(faults []blueprint.Fault) error {
	switch len(faults) {
	case 0:
		return exit.Usagef("there is no blueprint in the directory: expected .json, .yaml or .yml files")
	case 1:
		return exit.Usagef("no blueprint can be used: %s", faults[0])
	}
	return exit.Usagef("no blueprint can be used: %s", cli.Count(int64(len(faults)), "fault"))
}

// blueprintFinding is a line of run --check with -o json.
type blueprintFinding struct {
	Severity string `json:"severity"` // fault or warning
	Field    string `json:"field,omitempty"`
	Name     string `json:"name"` // of the file
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	What     string `json:"what"`
}

// CheckDirectory prints what is wrong with a directory of blueprints, and what can be run.
func CheckDirectory(a *cli.App, dir string, f *ModelFlags) error {
	all, faults, err := LoadBlueprints(dir, f, nil)
	if err != nil {
		return explainModels(a, err)
	}
	defer all.Close() // nothing was used
	return printCheck(a, all, faults)
}

// printCheck prints what is wrong with a directory, and what can be run.
func printCheck(a *cli.App, all *Blueprints, faults []blueprint.Fault) error {
	files := all.Files
	if err := errors.Join(printFindings(a, "fault", faults),
		printFindings(a, "warning", slices.Concat(all.Absent, all.Warnings))); err != nil {
		return err
	}
	if a.Format != cli.FormatJSON {
		for _, f := range files {
			a.Out.Line("ok: " + cli.Clean(f.Path) + ": " + cli.Clean(f.Name))
		}
	}
	if len(faults) > 0 {
		return exit.WithHint(exit.Usagef("%s in the blueprints", cli.Count(int64(len(faults)), "fault")),
			"'parley schema blueprint' says what there is")
	}
	if len(files)+len(all.Absent) == 0 {
		return NoBlueprintError(nil)
	}
	return nil
}

// printFindings prints what was found in blueprints.
func printFindings(a *cli.App, severity string, found []blueprint.Fault) error {
	for _, f := range found {
		if a.Format != cli.FormatJSON {
			a.Out.Line(cli.Clean(severity + ": " + f.String()))
			continue
		}
		if err := a.Out.JSON(blueprintFinding{severity, f.Field, f.Path, f.Line, f.Column, f.What}); err != nil {
			return err
		}
	}
	return nil
}
