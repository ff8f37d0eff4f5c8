package registry

import (
	"maps"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/paramschema"
	"github.com/parleyhub/parley/internal/selector"
)

// Runner is an executor that registered blueprints and has not left. Its record does not change:
// another Runner replaces it.
type Runner struct {
	parley.RunnerRecord
	agents map[string]*Blueprint // by name
	bytes  int                   // about the size of its rows in listAgents

	awaySince parley.Timestamp // 0 while it has a connection; guarded by Registry.mu
}

// Blueprint is an agent of a runner. It does not change.
type Blueprint struct {
	parley.Blueprint
	Runner     *Runner
	Parameters *paramschema.Schema
	Selectors  *selector.Set // nil without subscriptions
}

// newRunner returns a runner whose schemas are not compiled yet.
func newRunner(record *parley.RunnerRecord) *Runner {
	x := &Runner{RunnerRecord: *record, agents: make(map[string]*Blueprint, len(record.Blueprints))}
	for i := range record.Blueprints {
		b := &Blueprint{Blueprint: record.Blueprints[i], Runner: x}
		x.agents[b.Name] = b
		row := b.row(b.qualifiedName(), 0)
		x.bytes += rowBytes(&row)
	}
	return x
}

func (x *Runner) compile() error {
	for _, b := range x.agents {
		var err error
		if b.Parameters, err = paramschema.Compile(b.ParametersSchema); err != nil {
			return err
		}
		if len(b.Subscriptions) == 0 {
			continue
		}
		set, faults := selector.Compile(b.Subscriptions)
		if len(faults) > 0 {
			return atBlueprint(b.Name, invalid("subscriptions as docs/blueprint.schema.json says",
				"subscriptions: %s", describeFaults(faults)))
		}
		b.Selectors = set
	}
	return nil
}

// key is the key of the runner as an executor.
func (x *Runner) key() string { return fold.ExecutorKey(x.ParticipantID, x.RunnerID) }

func (x *Runner) isOffline(now parley.Timestamp) bool {
	return x.awaySince != 0 && now >= x.awaySince+limits.OfflineMs
}

// isSame reports whether two records are equal.
func isSame(a, b *parley.RunnerRecord) bool {
	return string(eventdata.Encode(a)) == string(eventdata.Encode(b))
}

// IsCommand reports whether the agent is a command: one executor runs it once. What other agents do
// is in the log, so that another executor can continue.
func (b *Blueprint) IsCommand() bool { return b.Kind() == parley.AgentTypeDeterministic }

// MaxClaimMs is how long the agent may hold a turn, if that is longer than usual; else 0. It is 0
// for a command.
func (b *Blueprint) MaxClaimMs() int64 {
	whole := b.TimeoutMs + limits.SessionSlackMs
	if b.IsCommand() || whole <= (&parley.Limits{}).MaxClaim() {
		return 0
	}
	return whole
}

func (b *Blueprint) qualifiedName() string { return b.Name + "@" + b.Runner.RunnerID }

// allLabels returns the labels of the runner and of the blueprint.
func (b *Blueprint) allLabels() map[string]string {
	all := make(map[string]string, len(b.Runner.Labels)+len(b.Labels))
	maps.Copy(all, b.Runner.Labels)
	maps.Copy(all, b.Labels)
	return all
}

// row returns the row of listAgents, with config and subscriptions. It shares its JSON with b.
func (b *Blueprint) row(name string, now parley.Timestamp) parley.AgentInfo {
	away := b.Runner.awaySince
	info := parley.AgentInfo{
		Name: name, Type: b.Kind(), Description: b.Description,
		ParametersSchema: b.ParametersSchema, OutputSchema: b.OutputSchema,
		AgentConfig: b.AgentConfig, Subscriptions: b.Subscriptions,
		Runner: b.Runner.ParticipantID, RunnerID: b.Runner.RunnerID, Labels: b.allLabels(),
		Online: away == 0, Stale: away != 0 && now >= away+limits.StaleMs,
	}
	if b.Runner.Internal {
		info.Runner = ""
	}
	return info
}

// rowBytes returns about the size of a row in the answer of listAgents. An escaped byte of a text
// has six bytes at most.
func rowBytes(info *parley.AgentInfo) int {
	n := 200 + len(info.Name) + len(info.Runner) + len(info.RunnerID) + 6*len(info.Description) +
		len(info.ParametersSchema) + len(info.OutputSchema) + len(info.AgentConfig) + len(info.Subscriptions)
	for k, v := range info.Labels {
		n += 6 * (len(k) + len(v) + 1)
	}
	return n
}
