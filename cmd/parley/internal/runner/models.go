package runner

import (
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/agents"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/models"
	"github.com/parleyhub/parley/executors/blueprint"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/replay"
)

// ModelFlags say which models LLM agents have.
type ModelFlags struct{ File, Replay, Mode string }

func (f *ModelFlags) AddTo(c *cobra.Command, prefix string) {
	c.Flags().StringVar(&f.File, "models", "", prefix+"models file, with model servers and model properties")
	c.Flags().StringVar(&f.Replay, "replay", "", prefix+"cassette of model answers to play back or record: a file or "+
		"a directory")
	c.Flags().StringVar(&f.Mode, "replay-mode", string(replay.Auto), prefix+
		"play: recorded answers only; record: ask models and record; auto: play recorded answers and record the others")
}

// Check refuses values that go with nothing.
func (f *ModelFlags) Check(given func(flag string) bool) error {
	if !replay.Mode(f.Mode).Valid() {
		return exit.Usagef("--replay-mode %s: expected record, play or auto", cli.Clean(f.Mode))
	}
	if given("replay-mode") && f.Replay == "" {
		return exit.Usagef("--replay-mode goes with --replay")
	}
	return nil
}

// Blueprints are the agents of a directory that can be run here, with what they run on.
type Blueprints struct {
	*agents.Agents
	models *models.Open // nil until they are made
}

// LoadBlueprints makes the agents of a directory, with all that is wrong with it; without o they
// are only looked at. The error is about models.
func LoadBlueprints(dir string, f *ModelFlags, o *agents.Options) (*Blueprints, []blueprint.Fault, error) {
	set, faults := blueprint.Load(dir)
	look := o == nil
	if look {
		o = &agents.Options{}
	}
	open, err := models.New(&models.Options{
		File: f.File, Blueprints: dir, Replay: f.Replay, Mode: replay.Mode(f.Mode), Look: look, Getenv: os.Getenv,
		Logger: o.Logger,
	})
	if err != nil {
		return nil, faults, err
	}
	for _, f := range open.Faults {
		faults = append(faults, blueprint.Fault{Path: f.File, Line: f.Line, Column: f.Column, Field: f.Field, What: f.What})
	}
	o.Models = open
	all, more := agents.New(set, o)
	return &Blueprints{Agents: all, models: open}, append(faults, more...), nil
}

// Meter counts what the LLM agents of this process do.
var Meter = &llm.Meter{}

// Close ends what the agents have open.
func (b *Blueprints) Close() error {
	err := b.Agents.Close()
	if merr := b.models.Close(); err == nil {
		err = merr
	}
	return err
}

// ModelsError is the error of models that cannot be used: a fault of what was set.
func ModelsError(err error) error {
	return exit.WithHint(exit.Usagef("%s", strings.Join(models.Faults(err), "; ")),
		"'parley schema models' says what a file of models is")
}

// explainModels is ModelsError that prints each of several faults on a separate line.
func explainModels(a *cli.App, err error) error {
	lines := models.Faults(err)
	if len(lines) == 1 || a.Format == cli.FormatJSON {
		return ModelsError(err)
	}
	for _, line := range lines {
		a.Err.Line(cli.Clean(line))
	}
	return ModelsError(errors.New(cli.Count(int64(len(lines)), "fault") + " in the models"))
}
