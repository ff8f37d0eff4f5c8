// Package agents runs the agents of a directory of blueprints: commands, workflows and LLM agents.
package agents

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/models"
	"github.com/parleyhub/parley/executors/blueprint"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/agent"
	"github.com/parleyhub/parley/executors/llm/mcptool"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/internal/limits"
)

// Options are for New.
type Options struct {
	// Models are the runtimes of the LLM agents.
	Models *models.Open
	// RunnerID is the executor that runs them, and Commands are the options of the commands.
	RunnerID string
	Commands *blueprint.Options
	Meter    *llm.Meter
	Logger   *slog.Logger
}

// Agents are the agents of a directory. It handles the turns of all their sessions and seats.
type Agents struct {
	// Files are the blueprints that can be run.
	Files []*blueprint.File
	// Absent lists the functions of the directory. This program cannot run functions, so their files
	// are valid but unused.
	Absent []blueprint.Fault
	// Warnings are parts of the files without effect, and agents that no file describes.
	Warnings []blueprint.Fault
	commands *blueprint.Agent
	llm      map[string]*agent.Agent // by name; child agents map to their parent
}

var _ parley.Agent = (*Agents)(nil)

// New creates the agents of a set. It leaves out each file that cannot run here and returns a fault
// for it.
func New(set *blueprint.Set, o *Options) (*Agents, []blueprint.Fault) {
	a := &Agents{Warnings: warningsOf(set), llm: map[string]*agent.Agent{}}
	a.Absent = set.NeedFunctions(nil)
	a.commands = blueprint.New(set, o.Commands)
	var faults []blueprint.Fault
	for _, f := range set.Files {
		if f.Sits() && len(a.Seats()) == limits.MaxExecutorAgents {
			faults = append(faults, f.Fault("name", fmt.Sprintf("expected at most %d LLM agents and agents with "+
				"subscriptions in a directory", limits.MaxExecutorAgents)))
			continue
		}
		if f.IsAgent() {
			if err := a.addLLM(f, o); err != nil {
				faults = append(faults, faultOf(f, o.Models, err))
				continue
			}
		}
		a.Files = append(a.Files, f)
	}
	return a, faults
}

// warningsOf returns the warnings of all files of a set. An agent that no file describes may be
// registered by another runner, so it is only a warning.
func warningsOf(set *blueprint.Set) (warnings []blueprint.Fault) {
	for _, f := range set.Files {
		warnings = append(warnings, f.Warnings...)
		if !f.IsAgent() {
			continue
		}
		for i, full := range f.Config.Agents {
			if name, _, _ := strings.Cut(full, "@"); set.File(name) == nil {
				warnings = append(warnings, f.Fault(fmt.Sprintf("agents[%d]", i), fmt.Sprintf(
					"unknown agent %q: no valid file of this directory has the name, so another runner has to register it", name)))
			}
		}
	}
	return warnings
}

// addLLM creates the LLM agent of a file.
func (a *Agents) addLLM(f *blueprint.File, o *Options) error {
	for _, m := range []struct{ field, model string }{
		{"model", f.Config.Model}, {"planning_model", f.Config.PlanningModel},
	} {
		if err := o.Models.Has(m.model); err != nil {
			return fmt.Errorf("%s: %w", m.field, err)
		}
	}
	b := f.Blueprint()
	connect := func(ctx context.Context, name string, s parley.MCPServer) (tool.Server, error) {
		return mcptool.Connect(ctx, name, s, &mcptool.Options{Dir: filepath.Dir(f.Path), Logger: o.Logger})
	}
	one, err := agent.New(&b, &agent.Options{
		Runtimes: o.Models.Runtimes, Connect: connect, Wrap: o.Models.Wrap(), RunnerID: o.RunnerID, Meter: o.Meter,
		Logger: o.Logger,
	})
	if err != nil {
		return err
	}
	for _, b := range one.Blueprints() {
		a.llm[b.Name] = one
	}
	return nil
}

var leadingWord = regexp.MustCompile(`^[a-z_.]+`)

// faultOf returns the fault for a file whose agent cannot be created. The error begins with the
// name of the agent and, if one field is wrong, with the name of that field.
func faultOf(f *blueprint.File, open *models.Open, err error) blueprint.Fault {
	what := strings.TrimPrefix(open.Explain(err, f.Config.Model, f.Config.PlanningModel).Error(), "agent "+f.Name+": ")
	for _, sentinel := range []error{parley.ErrValidationFailed, llm.ErrUnknownTool} {
		what = strings.TrimPrefix(what, sentinel.Error()+": ")
	}
	field := leadingWord.FindString(what)
	if rest, ok := strings.CutPrefix(what, field+": "); ok && f.Fault(field, "").Field == field {
		what = rest
	}
	return f.Fault(field, what)
}

// Blueprints returns the blueprints to register with the hub, including those of child agents.
func (a *Agents) Blueprints() []parley.Blueprint {
	all := []parley.Blueprint{}
	for _, f := range a.Files {
		if one := a.llm[f.Name]; f.IsAgent() && one != nil {
			all = append(all, one.Blueprints()...)
			continue
		}
		all = append(all, f.Blueprint())
	}
	return all
}

// Seats returns the names of the agents that can have a seat in conversations, in the order of
// their files: LLM agents and agents with subscriptions.
func (a *Agents) Seats() []string { return a.named((*blueprint.File).Sits) }

// Subscribed returns the names of the agents that have subscriptions.
func (a *Agents) Subscribed() []string {
	return a.named(func(f *blueprint.File) bool { return f.Subscriptions != nil })
}

// named returns the names of the files for which holds returns true.
func (a *Agents) named(holds func(*blueprint.File) bool) (names []string) {
	for _, f := range a.Files {
		if holds(f) {
			names = append(names, f.Name)
		}
	}
	return names
}

// HandleTurn passes a turn to the agent that it belongs to.
func (a *Agents) HandleTurn(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
	name, _, _ := strings.Cut(turn.Agent, "@")
	if one := a.llm[name]; one != nil {
		return one.HandleTurn(ctx, turn)
	}
	return a.commands.HandleTurn(ctx, turn)
}

// Close ends the connections of the LLM agents.
func (a *Agents) Close() error {
	var errs []error
	for _, name := range a.named((*blueprint.File).IsAgent) {
		errs = append(errs, a.llm[name].Close())
	}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
}
