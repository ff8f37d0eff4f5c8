package registry

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/arguments"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/paramschema"
	"github.com/parleyhub/parley/internal/toolnames"
)

// checkBlueprints returns a copy of the blueprints that p registers, with compact JSON.
func checkBlueprints(p *auth.Principal, all []parley.Blueprint) ([]parley.Blueprint, error) {
	if len(all) > limits.MaxBlueprints {
		return nil, invalid(fmt.Sprintf("at most %d", limits.MaxBlueprints), "blueprints: there are %d", len(all))
	}
	all = slices.Clone(all)
	seen := make(map[string]bool, len(all))
	for i := range all {
		b := &all[i]
		if !parley.ValidParticipantID(b.Name) || seen[b.Name] {
			return nil, invalid("different names like ids of participants",
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
		return invalid("flags, stdin or env", "params_via is %q", policy.Clip(string(b.ParamsVia)))
	case b.TimeoutMs != 0 && (b.TimeoutMs < limits.MinDurationMs || b.TimeoutMs > limits.MaxSessionTimeoutMs):
		return invalid(fmt.Sprintf("%d to %d", limits.MinDurationMs, limits.MaxSessionTimeoutMs),
			"timeout_ms is %d", b.TimeoutMs)
	case len(b.ParametersSchema) == 0:
		return invalid("a JSON Schema", "there is no parameters_schema")
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
		return invalid("text in UTF-8", "description is not UTF-8")
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

// checkKind checks what depends on the type of the agent.
func checkKind(b *parley.Blueprint) error {
	kind := b.Kind()
	switch {
	case !slices.Contains(parley.AgentTypes, kind):
		return invalid("agent, deterministic, function or workflow", "type is %q", policy.Clip(string(kind)))
	case kind == parley.AgentTypeDeterministic:
		b.Type = "" // the log has one spelling
	case b.ParamsVia != "" || b.Idempotent:
		name := "a " + string(kind)
		if kind == parley.AgentTypeAgent {
			name = "an LLM agent"
		}
		return invalid("neither: they are for commands", "params_via or idempotent with %s", name)
	}
	if kind == parley.AgentTypeAgent {
		return checkConfig(b)
	}
	if len(b.AgentConfig) > 0 {
		return invalid("type agent, or no agent_config", "agent_config with a %s agent", kind)
	}
	b.AgentConfig = nil
	return nil
}

// checkConfig checks the config of an LLM agent.
func checkConfig(b *parley.Blueprint) error {
	if len(b.AgentConfig) == 0 {
		return invalid("an agent config: it is of type agent", "there is no agent_config")
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
		return invalid("a config as docs/blueprint.schema.json says", "agent_config: %s", describeFaults(faults))
	case config.Spawns() && len(b.Name) > toolnames.MaxSpawnerName:
		return invalid(fmt.Sprintf("at most %d", toolnames.MaxSpawnerName),
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
		return invalid(expected, "%s not JSON", subject)
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

func invalid(expected, format string, args ...any) error {
	return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf(format, args...), expected)
}
