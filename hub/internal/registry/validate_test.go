package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/toolnames"
)

// checkRegistration checks blueprints as their registration does.
func checkRegistration(p *auth.Principal, blueprints ...parley.Blueprint) error {
	checked, err := checkBlueprints(p, blueprints)
	if err != nil {
		return err
	}
	return newRunner(&parley.RunnerRecord{Blueprints: checked}).compile()
}

// A refusal is a fault of a blueprint, the error, and a part of its message or expectation.
type refusal struct {
	name     string
	change   func(b *parley.Blueprint)
	sentinel error
	words    string
}

func checkRefused(t *testing.T, good func() parley.Blueprint, refusals []refusal) {
	t.Helper()
	p := auth.Local("ops").SpeakingAs("bad")
	if err := checkRegistration(p, good()); err != nil {
		t.Fatalf("without a fault: %v", err)
	}
	for _, c := range refusals {
		b := good()
		c.change(&b)
		err := checkRegistration(p, b)
		var e *parley.Error
		if !errors.As(err, &e) || e.Err != c.sentinel || !strings.Contains(e.Message+" "+e.Expected, c.words) {
			t.Errorf("%s: %v, want %v with %q", c.name, err, c.sentinel, c.words)
		}
	}
}

// schemaFault, configFault and selectorFault are refusals of a schema, a config and subscriptions.
func schemaFault(name, schema, words string) refusal {
	return refusal{name, func(b *parley.Blueprint) { b.ParametersSchema = json.RawMessage(schema) },
		parley.ErrValidationFailed, words}
}

func configFault(name, config, words string) refusal {
	return refusal{name, func(b *parley.Blueprint) { b.AgentConfig = json.RawMessage(config) },
		parley.ErrValidationFailed, words}
}

func selectorFault(name, subscriptions, words string) refusal {
	return refusal{name, func(b *parley.Blueprint) { b.Subscriptions = json.RawMessage(subscriptions) },
		parley.ErrValidationFailed, words}
}

func TestCommandsAreChecked(t *testing.T) {
	invalid := parley.ErrValidationFailed
	labels := make(map[string]string)
	for i := range limits.MaxLabels + 1 {
		labels[fmt.Sprint(i)] = "x"
	}
	checkRefused(t, func() parley.Blueprint { return command("bad") }, []refusal{
		{"no name", func(b *parley.Blueprint) { b.Name = "" }, invalid, "blueprints[0]"},
		{"bad name", func(b *parley.Blueprint) { b.Name = "a@b" }, invalid, "a@b"},
		{"long description", func(b *parley.Blueprint) {
			b.Description = strings.Repeat("x", limits.MaxAgentDescriptionBytes+1)
		}, parley.ErrTooLarge, "bad: description has 1025 bytes at most 1024"},
		{"not UTF-8", func(b *parley.Blueprint) { b.Description = "\xff" }, invalid, "UTF-8"},
		{"unknown params_via", func(b *parley.Blueprint) { b.ParamsVia = "pipes" }, invalid, "params_via"},
		{"too short", func(b *parley.Blueprint) { b.TimeoutMs = 99 }, invalid, "timeout_ms"},
		{"too long", func(b *parley.Blueprint) { b.TimeoutMs = limits.MaxSessionTimeoutMs + 1 }, invalid, "timeout_ms"},
		{"too many labels", func(b *parley.Blueprint) { b.Labels = labels }, invalid, "labels"},
		{"bad output schema", func(b *parley.Blueprint) { b.OutputSchema = json.RawMessage(`{"type":7}`) },
			invalid, "blueprint bad"},
		{"large schema", func(b *parley.Blueprint) {
			text := strings.Repeat("x", limits.MaxAgentSchemaBytes)
			b.ParametersSchema = json.RawMessage(`{"description":"` + text + `"}`)
		}, parley.ErrTooLarge, "schema"},
		{"one variable twice", func(b *parley.Blueprint) {
			b.ParamsVia = parley.ParamsEnv
			b.ParametersSchema = json.RawMessage(`{"type":"object","properties":{"a-b":{},"A_B":{}}}`)
		}, invalid, "one variable"},
		schemaFault("no schema", "", "parameters_schema"),
		schemaFault("remote schema", `{"$ref":"https://example.com/x.json"}`, "blueprint bad"),
		schemaFault("schema of a file", `{"$ref":"file:///etc/passwd"}`, "blueprint bad"),
		schemaFault("flag with a space", `{"type":"object","properties":{"a b":{}}}`, "cannot be a flag"),
		schemaFault("flag like one", `{"type":"object","properties":{"-rf":{}}}`, "cannot be a flag"),
		configFault("config", `{}`, "agent_config with a deterministic agent"),
	})
	b := command("dotted") // a JSON object may have names that are no flags
	b.ParametersSchema = json.RawMessage(`{"type":"object","properties":{"a b":{},"-x":{}}}`)
	b.ParamsVia = parley.ParamsStdin
	if err := checkRegistration(auth.Local("ops"), b); err != nil {
		t.Error(err)
	}
}

func TestAgentsAreChecked(t *testing.T) {
	invalid := parley.ErrValidationFailed
	checkRefused(t, func() parley.Blueprint {
		b := command("bad")
		b.Type, b.AgentConfig = parley.AgentTypeAgent, json.RawMessage(`{"model":"openai:gpt-4o"}`)
		b.ParametersSchema = json.RawMessage(`{"type":"object","properties":{"a b":{}}}`) // fine without flags
		return b
	}, []refusal{
		{"unknown type", func(b *parley.Blueprint) { b.Type = "magic" }, invalid, `bad: type is "magic"`},
		{"config of a command", func(b *parley.Blueprint) { b.Type = parley.AgentTypeDeterministic },
			invalid, "agent_config with a"},
		{"no type", func(b *parley.Blueprint) { b.Type = "" }, invalid, "agent_config with a deterministic agent"},
		{"large config", func(b *parley.Blueprint) {
			text := strings.Repeat("x", limits.MaxAgentConfigBytes)
			b.AgentConfig = json.RawMessage(`{"model":"a:b","x":"` + text + `"}`)
		}, parley.ErrTooLarge, "agent_config has"},
		{"params_via", func(b *parley.Blueprint) { b.ParamsVia = parley.ParamsStdin },
			invalid, "idempotent with an LLM agent"},
		{"idempotent", func(b *parley.Blueprint) { b.Idempotent = true }, invalid, "params_via or idempotent"},
		{"timeout", func(b *parley.Blueprint) { b.TimeoutMs = 99 }, invalid, "timeout_ms"},
		{"long name of a spawner", func(b *parley.Blueprint) {
			b.Name = strings.Repeat("n", toolnames.MaxSpawnerName+1)
			b.AgentConfig = json.RawMessage(`{"model":"a:b","allow_self_spawn":true}`)
		}, invalid, "its children are named NAME.child"},
		schemaFault("no schema", "", "parameters_schema"),
		configFault("no config", "", "there is no agent_config"),
		configFault("no JSON", `{"model":`, "agent_config: $: expected an object"),
		configFault("null", `null`, "agent_config: $: expected an object"),
		configFault("no model", `{}`, "blueprint bad: agent_config: $.model: expected a runtime"),
		configFault("unknown field", `{"model":"a:b","Model":1}`, "$.Model: there is no such field"),
		configFault("many faults", `{"model":"x","max_steps":0,"top_p":9,"tools":["a b"]}`, "; and 1 more"),
		configFault("eight children", `{"model":"a:b","max_parallel_subagents":8}`,
			"$.max_parallel_subagents: expected 1 to 7"),
		configFault("unknown hitl", `{"model":"a:b","hitl_tools":["x"]}`, "$.hitl_tools[0]: expected a tool of this agent"),
		configFault("bad template", `{"model":"a:b","run_options":{"user_template":"{"}}`,
			"$.run_options.user_template: expected {, a name and }"),
		configFault("only a planner", `{"model":"a:b","planning_enabled":true,"max_steps":1}`,
			"$.max_steps: expected at least 2"),
	})
}

func TestSubscriptionsAreChecked(t *testing.T) {
	invalid := parley.ErrValidationFailed
	checkRefused(t, func() parley.Blueprint { return command("bad") }, []refusal{
		selectorFault("operator", `[{"context_match":[{"path":"$.a","op":"like","value":1}]}]`, "[0].context_match[0].op"),
		selectorFault("path", `[{"context_match":[{"path":"a","op":"eq","value":1}]}]`, "[0].context_match[0].path"),
		selectorFault("role", `[{"role":"listen"}]`, "blueprint bad: subscriptions: "),
		selectorFault("no JSON", `[`, "subscriptions: $: expected a list"),
		selectorFault("empty", `[]`, "subscriptions"),
		{"large", func(b *parley.Blueprint) {
			b.Subscriptions = json.RawMessage(`["` + strings.Repeat("x", limits.MaxSubscriptionBytes) + `"]`)
		}, parley.ErrTooLarge, "subscriptions have"},
		{"agent of others", func(b *parley.Blueprint) { b.Name, b.Subscriptions = "foreign", json.RawMessage(`[{}]`) },
			parley.ErrForbidden, "subscriptions of foreign need a token that may speak as foreign"},
		{"function", func(b *parley.Blueprint) { b.Type, b.ParamsVia = parley.AgentTypeFunction, parley.ParamsEnv },
			invalid, "params_via or idempotent with a function"},
		{"workflow", func(b *parley.Blueprint) { b.Type, b.Idempotent = parley.AgentTypeWorkflow, true },
			invalid, "params_via or idempotent with a workflow"},
		{"config", func(b *parley.Blueprint) { b.Type, b.AgentConfig = parley.AgentTypeFunction, json.RawMessage(`{}`) },
			invalid, "agent_config with a function"},
		{"unknown type", func(b *parley.Blueprint) { b.Type = "tool" },
			invalid, "agent, deterministic, function or workflow"},
	})
}

// Checked blueprints have compact JSON and one spelling of the type, and share nothing with the caller.
func TestCheckBlueprintsCopies(t *testing.T) {
	b := command("count")
	b.Type, b.ParametersSchema = parley.AgentTypeDeterministic, json.RawMessage(`{ "type": "object" }`)
	b.Subscriptions, b.OutputSchema = json.RawMessage(` null`), json.RawMessage{}
	given := []parley.Blueprint{b}
	got, err := checkBlueprints(auth.Local("ops"), given)
	if err != nil {
		t.Fatal(err)
	}
	b.ParametersSchema[0] = '!'
	if c := got[0]; c.Type != "" || string(c.ParametersSchema) != `{"type":"object"}` || c.Subscriptions != nil ||
		c.OutputSchema != nil {
		t.Errorf("checked: %+v", c)
	}
	if given[0].Type != parley.AgentTypeDeterministic {
		t.Error("the caller's blueprint changed")
	}
}
