package main

import (
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/agents"
	"github.com/parleyhub/parley/cmd/parley/internal/models"
	"github.com/parleyhub/parley/executors/blueprint"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/replay"
	"github.com/parleyhub/parley/rpc"
)

// modelFlags say which models LLM agents have.
type modelFlags struct{ file, replay, mode string }

func (f *modelFlags) add(c *cobra.Command, prefix string) {
	c.Flags().StringVar(&f.file, "models", "", prefix+"file of servers of models, and of what models are like")
	c.Flags().StringVar(&f.replay, "replay", "", prefix+"file or directory that has what models have answered, or gets it")
	c.Flags().StringVar(&f.mode, "replay-mode", string(replay.Auto), prefix+"play asks no model, record asks always, auto plays what is there and records the rest")
}

// agree refuses values that go with nothing.
func (f *modelFlags) agree(given func(flag string) bool) error {
	if !replay.Mode(f.mode).Valid() {
		return usagef("--replay-mode %s: expected record, play or auto", clean(f.mode))
	}
	if given("replay-mode") && f.replay == "" {
		return usagef("--replay-mode goes with --replay")
	}
	return nil
}

// blueprints are the agents of a directory that can be run here, with what they run on.
type blueprints struct {
	*agents.Agents
	models *models.Open // nil until they are made
}

// loadBlueprints makes the agents of a directory, with all that is wrong with it; without o they are only looked at. The error is about models.
func loadBlueprints(dir string, f *modelFlags, o *agents.Options) (*blueprints, []blueprint.Fault, error) {
	set, faults := blueprint.Load(dir)
	look := o == nil
	if look {
		o = &agents.Options{}
	}
	open, err := models.New(&models.Options{
		File: f.file, Blueprints: dir, Replay: f.replay, Mode: replay.Mode(f.mode), Look: look, Getenv: os.Getenv, Logger: o.Logger,
	})
	if err != nil {
		return nil, faults, err
	}
	for _, f := range open.Faults {
		faults = append(faults, blueprint.Fault{Path: f.File, Line: f.Line, Column: f.Column, Field: f.Field, What: f.What})
	}
	o.Models = open
	all, more := agents.New(set, o)
	return &blueprints{Agents: all, models: open}, append(faults, more...), nil
}

// meter counts what the LLM agents of this process do.
var meter = &llm.Meter{}

// Close ends what the agents have open.
func (b *blueprints) Close() error {
	err := b.Agents.Close()
	if merr := b.models.Close(); err == nil {
		err = merr
	}
	return err
}

// modelsFault is the error of models that cannot be used: a fault of what was set.
func modelsFault(err error) error {
	return withHint(usagef("%s", strings.Join(models.Faults(err), "; ")), "'parley schema models' says what a file of models is")
}

// faultyModels is modelsFault that prints each of several faults on a line of its own.
func (a *app) faultyModels(err error) error {
	lines := models.Faults(err)
	if len(lines) == 1 || a.format == formatJSON {
		return modelsFault(err)
	}
	for _, line := range lines {
		a.err.line(clean(line))
	}
	return modelsFault(errors.New(count(int64(len(lines)), "fault") + " in the models"))
}

// llmMetrics is what meter has counted, for /metrics.
func llmMetrics() []rpc.Metric {
	counted := meter.Snapshot()
	all := make([]rpc.Metric, len(counted))
	for i, m := range counted {
		all[i] = rpc.Metric{Name: m.Name, Help: m.Help, Labels: m.Labels, Buckets: m.Buckets}
		for _, s := range m.Series {
			all[i].Series = append(all[i].Series, rpc.MetricSeries(s))
		}
	}
	return all
}
