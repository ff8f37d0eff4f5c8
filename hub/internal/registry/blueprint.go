package registry

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/page"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/arguments"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/paramschema"
	"github.com/parleyhub/parley/internal/selector"
	"github.com/parleyhub/parley/internal/toolnames"
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
			return atBlueprint(b.Name, page.Invalid("subscriptions as docs/blueprint.schema.json says",
				"subscriptions: %s", describeFaults(faults)))
		}
		b.Selectors = set
	}
	return nil
}

func (x *Runner) key() string { return fold.ExecutorKey(x.ParticipantID, x.RunnerID) }

func (x *Runner) isOffline(now parley.Timestamp) bool {
	return x.awaySince != 0 && now >= x.awaySince+limits.OfflineMs
}

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

// checkBlueprints returns a copy of the blueprints that p registers, with compact JSON.
func checkBlueprints(p *auth.Principal, all []parley.Blueprint) ([]parley.Blueprint, error) {
	if len(all) > limits.MaxBlueprints {
		return nil, page.Invalid(fmt.Sprintf("at most %d", limits.MaxBlueprints), "blueprints: there are %d", len(all))
	}
	all = slices.Clone(all)
	seen := make(map[string]bool, len(all))
	for i := range all {
		b := &all[i]
		if !parley.ValidParticipantID(b.Name) || seen[b.Name] {
			return nil, page.Invalid("different names like ids of participants",
				"blueprints[%d]: %q is no name of an agent, or there twice", i, policy.Clip(b.Name))
		}
		seen[b.Name] = true
		if err := checkBlueprint(b); err != nil {
			return nil, atBlueprint(b.Name, err)
		}
		if err := checkSubscriber(p, b); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// atBlueprint adds the name of a blueprint to a refusal.
func atBlueprint(name string, err error) error {
	var e *parley.Error
	if errors.As(err, &e) {
		return parley.Refuse(e.Err, "blueprint "+name+": "+e.Message, e.Expected)
	}
	return err
}

func checkBlueprint(b *parley.Blueprint) error {
	switch {
	case !b.ParamsVia.Valid():
		return page.Invalid("flags, stdin or env", "params_via is %q", policy.Clip(string(b.ParamsVia)))
	case b.TimeoutMs != 0 && (b.TimeoutMs < limits.MinDurationMs || b.TimeoutMs > limits.MaxSessionTimeoutMs):
		return page.Invalid(fmt.Sprintf("%d to %d", limits.MinDurationMs, limits.MaxSessionTimeoutMs),
			"timeout_ms is %d", b.TimeoutMs)
	case len(b.ParametersSchema) == 0:
		return page.Invalid("a JSON Schema", "there is no parameters_schema")
	}
	parameters, err := checkSchema(&b.ParametersSchema)
	_, outputErr := checkSchema(&b.OutputSchema)
	err = cmp.Or(err, outputErr, checkDescription(b.Description), checkKind(b), checkSubscriptions(b),
		check.Labels("labels", b.Labels))
	if err != nil || b.Kind() != parley.AgentTypeDeterministic {
		return err
	}
	return arguments.CheckNames(b.ParamsVia, parameters.Properties())
}

func checkDescription(s string) error {
	if !utf8.ValidString(s) {
		return page.Invalid("text in UTF-8", "description is not UTF-8")
	}
	return checkSize("description has", len(s), limits.MaxAgentDescriptionBytes)
}

// checkSchema compiles a schema, and returns nil for an empty one.
func checkSchema(schema *json.RawMessage) (*paramschema.Schema, error) {
	err := compactJSON(schema, "a schema is", "a JSON Schema")
	if err == nil {
		err = checkSize("a schema has", len(*schema), limits.MaxAgentSchemaBytes)
	}
	if err != nil || *schema == nil {
		return nil, err
	}
	return paramschema.Compile(*schema)
}

func checkKind(b *parley.Blueprint) error {
	kind := b.Kind()
	switch {
	case !slices.Contains(parley.AgentTypes, kind):
		return page.Invalid("agent, deterministic, function or workflow", "type is %q", policy.Clip(string(kind)))
	case kind == parley.AgentTypeDeterministic:
		b.Type = "" // the log has one spelling
	case b.ParamsVia != "" || b.Idempotent:
		name := "a " + string(kind)
		if kind == parley.AgentTypeAgent {
			name = "an LLM agent"
		}
		return page.Invalid("neither: they are for commands", "params_via or idempotent with %s", name)
	}
	if kind == parley.AgentTypeAgent {
		return checkConfig(b)
	}
	if len(b.AgentConfig) > 0 {
		return page.Invalid("type agent, or no agent_config", "agent_config with a %s agent", kind)
	}
	b.AgentConfig = nil
	return nil
}

func checkConfig(b *parley.Blueprint) error {
	if len(b.AgentConfig) == 0 {
		return page.Invalid("an agent config: it is of type agent", "there is no agent_config")
	}
	if err := checkSize("agent_config has", len(b.AgentConfig), limits.MaxAgentConfigBytes); err != nil {
		return err
	}
	if err := compactJSON(&b.AgentConfig, "agent_config is", "an agent config"); err != nil {
		return err
	}
	config, faults := parley.ParseAgentConfig(b.AgentConfig)
	switch {
	case len(faults) > 0:
		return page.Invalid("a config as docs/blueprint.schema.json says", "agent_config: %s", describeFaults(faults))
	case config.Spawns() && len(b.Name) > toolnames.MaxSpawnerName:
		return page.Invalid(fmt.Sprintf("at most %d", toolnames.MaxSpawnerName),
			"the name has %d bytes, and its children are named NAME%s", len(b.Name), toolnames.ChildSuffix)
	}
	return nil
}

// checkSubscriptions checks the JSON of subscriptions. Runner.compile checks their selectors.
func checkSubscriptions(b *parley.Blueprint) error {
	if err := checkSize("subscriptions have", len(b.Subscriptions), limits.MaxSubscriptionBytes); err != nil {
		return err
	}
	if err := compactJSON(&b.Subscriptions, "subscriptions are", "selectors"); err != nil {
		return err
	}
	if string(b.Subscriptions) == "null" {
		b.Subscriptions = nil
	}
	return nil
}

// checkSubscriber refuses subscriptions of an agent as which the token of the runner may not speak,
// because subscriptions also select what the agent reads.
func checkSubscriber(p *auth.Principal, b *parley.Blueprint) error {
	if b.Subscriptions == nil || p.MaySpeakAs(b.Name) {
		return nil
	}
	return parley.Refuse(parley.ErrForbidden,
		fmt.Sprintf("subscriptions of %s need a token that may speak as %s", b.Name, b.Name),
		"such a token, or no subscriptions")
}

// describeFaults returns the first faults, and the number of the others.
func describeFaults(faults []parley.ValidationError) string {
	const most = 3
	var lines []string
	for _, f := range faults[:min(most, len(faults))] {
		lines = append(lines, policy.Clip(f.Path)+": "+policy.Cut(f.Message, 200))
	}
	text := strings.Join(lines, "; ")
	if more := len(faults) - most; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// compactJSON replaces JSON by a compact copy, and empty JSON by nil. subject is its name, and a
// verb.
func compactJSON(raw *json.RawMessage, subject, expected string) (err error) {
	if len(*raw) == 0 {
		*raw = nil
		return nil
	}
	if *raw, err = check.Compact(bytes.Clone(*raw)); err != nil {
		return page.Invalid(expected, "%s not JSON", subject)
	}
	return nil
}

// checkSize refuses more than max bytes. subject is the name of the value, and a verb.
func checkSize(subject string, bytes, max int) error {
	if bytes <= max {
		return nil
	}
	return parley.Refuse(parley.ErrTooLarge, fmt.Sprintf("%s %d bytes", subject, bytes), fmt.Sprintf("at most %d", max))
}
