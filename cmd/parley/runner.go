package main

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
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/blueprint"
)

// runnerFlags are those of run --blueprints.
type runnerFlags struct {
	dir, id string
	labels  []string
	grace   time.Duration
	check   bool
	models  modelFlags
}

func (f *runnerFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.dir, "blueprints", "", "run the agents that the files of this directory describe: commands, workflows and LLM agents")
	c.Flags().StringArrayVar(&f.labels, "label", nil, "with --blueprints: NAME=VALUE, what sessions may demand; may be repeated")
	c.Flags().StringVar(&f.id, "runner", "", "with --blueprints: id of the runner (default: the one that is kept in DIR)")
	c.Flags().DurationVar(&f.grace, "grace", parley.OfflineMs*time.Millisecond, "with --blueprints: how long commands go on, and their sessions stand, while the hub cannot be reached")
	f.models.add(c, "with --blueprints: ")
	c.Flags().BoolVar(&f.check, "check", false, "with --blueprints: tell what is wrong with the files, and run nothing")
}

// agree refuses flags of one kind of run with the other.
func (f *runnerFlags) agree(given func(flag string) bool) error {
	if !given("blueprints") {
		for _, flag := range []string{"label", "runner", "grace", "check", "models", "replay", "replay-mode"} {
			if given(flag) {
				return usagef("--%s goes with --blueprints", flag)
			}
		}
		return nil
	}
	for flag, instead := range map[string]string{
		"conversation": "every session is a conversation of its own", "executor": "its name is --runner", "pull": "sessions are offered", "turn-timeout": "each file has its timeout",
		"env": "each file has its env", "dir": "each file has its cwd",
	} {
		if given(flag) {
			return usagef("--%s does not go with --blueprints: %s", flag, instead)
		}
	}
	return f.models.agree(given)
}

// options are those of the executor, without what is known only when the agents are made.
func (f *programFlags) runnerOptions() (*executors.Options, error) {
	if err := f.checkCommon(); err != nil {
		return nil, err
	}
	labels, err := labelsOf("--label", f.runner.labels)
	if err != nil {
		return nil, err
	}
	grace := f.runner.grace.Milliseconds()
	switch {
	case f.runner.id != "" && !parley.ValidParticipantID(f.runner.id):
		return nil, usagef("--runner %s: expected 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit", clean(f.runner.id))
	case grace < parley.MinGraceMs || grace > parley.MaxGraceMs:
		return nil, usagef("--grace %s: expected %dms to %s", f.runner.grace, parley.MinGraceMs, parley.MaxGraceMs*time.Millisecond)
	}
	return &executors.Options{
		Agents: append([]string{}, f.agents...), Labels: labels, Capacity: f.capacity, Grace: runnerGrace, GraceMs: grace, Drain: drainOption(f.drain),
	}, nil
}

// runnerGrace is how long a command may take to end when its turn is over; it is killed before that.
const runnerGrace = blueprint.StopWait + 2*time.Second

func (a *app) runBlueprints(ctx context.Context, f *programFlags) error {
	if f.runner.check {
		return a.checkDirectory(f.runner.dir, &f.runner.models)
	}
	o, err := f.runnerOptions()
	if err != nil {
		return err
	}
	if set, faults := blueprint.Load(f.runner.dir); len(set.Files) == 0 { // before anything is kept there
		return a.usable(nil, faults)
	}
	if o.ExecutorID = f.runner.id; o.ExecutorID == "" {
		id, release, err := blueprint.RunnerID(f.runner.dir)
		if err != nil {
			return withHint(err, "--runner gives it another id, which is not kept")
		}
		defer release()
		o.ExecutorID = id
	}
	o.Logger = slog.New(executorLog{a: a})
	all, err := a.makeAgents(f, o)
	if err != nil {
		return err
	}
	return errors.Join(a.runAgents(ctx, f, o, all), all.Close())
}

// makeAgents makes the agents of the directory.
func (a *app) makeAgents(f *programFlags, o *executors.Options) (*blueprints, error) {
	commands := &blueprint.Options{}
	if !f.noToken {
		commands.URL = hubURL()
	}
	all, faults, err := loadBlueprints(f.runner.dir, &f.runner.models, &agents.Options{RunnerID: o.ExecutorID, Commands: commands, Meter: meter, Logger: o.Logger})
	if err != nil {
		return nil, a.faultyModels(err)
	}
	err = a.usable(all.Files, slices.Concat(faults, all.Absent))
	for _, name := range f.agents {
		if err == nil && !slices.Contains(all.Seats(), name) {
			err = usagef("--agent %s: expected an LLM agent of %s, or one with subscriptions: %s", clean(name), clean(f.runner.dir), orNone(all.Seats()))
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

// orNone lists names.
func orNone(names []string) string {
	if len(names) == 0 {
		return "there is none"
	}
	return clean(strings.Join(names, ", "))
}

// runAgents runs them until ctx ends.
func (a *app) runAgents(ctx context.Context, f *programFlags, o *executors.Options, all *blueprints) error {
	if err := hideEnvironment(); err != nil {
		return fmt.Errorf("hide the token of this process from the commands: %w", err)
	}
	traced, told, err := f.tell(ctx, o)
	if err != nil {
		return err
	}
	defer told.Shutdown(context.WithoutCancel(ctx)) // what cannot be told is in the log
	n := &notices{}
	n.to(func(text string) { a.err.line("-- " + text) })
	client, err := a.dialTelling(ctx, "", n)
	if err != nil {
		return err
	}
	defer client.Close()
	a.err.linef("-- %s runs %s of %s", o.ExecutorID, count(int64(len(all.Files)), "blueprint"), clean(f.runner.dir))
	o.Registered = (&namesTold{tell: func(text string) { a.err.line("-- " + text) }, runner: o.ExecutorID}).registered
	return executors.Run(traced, client, byPlace(&sessionTeller{agent: all, tell: func(t *sessionTold) { a.tellSession(t) }}, a.told(all)), o)
}

// byPlace gives the turns of sessions to one agent, and those of seats to another.
func byPlace(sessions, seats parley.Agent) parley.Agent {
	return parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		if strings.HasPrefix(turn.ConversationID, "ses_") {
			return sessions.HandleTurn(ctx, turn)
		}
		return seats.HandleTurn(ctx, turn)
	})
}

// usable tells of faults on stderr, and refuses a directory of which nothing can be run.
func (a *app) usable(files []*blueprint.File, faults []blueprint.Fault) error {
	if len(files) > 0 || len(faults) > 1 && a.format != formatJSON { // one alone stands in the error
		for _, f := range faults {
			a.err.line("-- " + clean(f.String()))
		}
	}
	if len(files) > 0 {
		return nil
	}
	hint := "'parley schema blueprint' says what one is, 'parley wrap' makes one of a command line"
	if len(faults) > 1 {
		hint = "'parley run --blueprints DIR --check' tells all that is wrong, " + hint
	}
	return withHint(noBlueprint(faults), hint)
}

// noBlueprint is the error of a directory of which nothing can be run.
func noBlueprint(faults []blueprint.Fault) error {
	switch len(faults) {
	case 0:
		return usagef("there is no blueprint in the directory: expected .json, .yaml or .yml files")
	case 1:
		return usagef("no blueprint can be used: %s", faults[0])
	}
	return usagef("no blueprint can be used: %s", count(int64(len(faults)), "fault"))
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

// checkDirectory prints what is wrong with a directory of blueprints, and what can be run.
func (a *app) checkDirectory(dir string, f *modelFlags) error {
	all, faults, err := loadBlueprints(dir, f, nil)
	if err != nil {
		return a.faultyModels(err)
	}
	defer all.Close() // of what was not used
	return a.checkBlueprints(all, faults)
}

// checkBlueprints prints what is wrong with a directory, and what can be run.
func (a *app) checkBlueprints(all *blueprints, faults []blueprint.Fault) error {
	files := all.Files
	if err := errors.Join(a.findBlueprints("fault", faults), a.findBlueprints("warning", all.Absent)); err != nil {
		return err
	}
	if a.format != formatJSON {
		for _, f := range files {
			a.out.line("ok: " + clean(f.Path) + ": " + clean(f.Name))
		}
	}
	if len(faults) > 0 {
		return withHint(usagef("%s in the blueprints", count(int64(len(faults)), "fault")), "'parley schema blueprint' says what there is")
	}
	if len(files)+len(all.Absent) == 0 {
		return noBlueprint(nil)
	}
	return nil
}

// findBlueprints prints what was found in blueprints.
func (a *app) findBlueprints(severity string, found []blueprint.Fault) error {
	for _, f := range found {
		if a.format != formatJSON {
			a.out.line(clean(severity + ": " + f.String()))
			continue
		}
		if err := a.out.json(blueprintFinding{severity, f.Field, f.Path, f.Line, f.Column, f.What}); err != nil {
			return err
		}
	}
	return nil
}
