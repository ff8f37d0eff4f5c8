package blueprint

import (
	"encoding/json"
	"maps"
	"regexp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/shape"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// Members of all blueprints.
var (
	kind = shape.May("type",
		shape.Among(
			"deterministic, a command; agent, an LLM agent; function, a function of the program that runs it; or workflow; "+
				"absent, deterministic, or function with subscriptions and no command",
			parley.AgentTypeDeterministic, parley.AgentTypeAgent, parley.AgentTypeFunction, parley.AgentTypeWorkflow))
	name          = shape.May("name", shape.ID("the name of the agent; not hub"))
	agentID       = shape.May("agent_id", shape.ID("another key for name"))
	subscriptions = shape.May("subscriptions",
		shape.Any("the triggers and the context of the agent: {selectors: [...]}, or the list of selectors",
			limits.MaxSubscriptionBytes))
	description = shape.May("description",
		shape.Prose("the purpose of the agent, for callers that choose an agent", limits.MaxAgentDescriptionBytes))
	output = shape.May("output_schema",
		schemaOf("a JSON Schema of the result, which must then be JSON; the result of a command is its stdout"))
	timeout = shape.May("timeout",
		shape.Line("the longest run time, such as 90s or 1h30m: 100ms to 23h; absent, 5m for a command, and the limit of "+
			"the conversation for an LLM agent", 32))
	labels = shape.May("labels",
		shape.MapOf("labels that sessions may require of the runner, in addition to its own labels", limits.MaxLabels,
			shape.Line("a value", limits.MaxLabelBytes)))
)

// table defines the members of a command's file. The checker has the rules that it cannot express.
var table = &shape.Shape{Kind: shape.Object, Members: []shape.Member{
	kind, name, agentID, description, subscriptions,
	shape.May("command",
		shape.Prose("the program and its arguments, split at white space, without a shell; alternative to argv", MaxArgvBytes)),
	shape.May("argv",
		shape.ListOf("the program and its arguments, unchanged", 1, MaxArgv,
			&shape.Shape{Kind: shape.Text, Doc: "an argument", Empty: true, Most: MaxArgvBytes})),
	shape.Must("parameters_schema",
		schemaOf("a JSON Schema of the parameters, by default draft 7; absent, for all except "+
			"commands, {prompt}")),
	output,
	shape.May("params_via",
		shape.Among("how the parameters are passed to the command; absent, flags", parley.ParamsFlags, parley.ParamsStdin,
			parley.ParamsEnv)),
	shape.May("env",
		shape.ListOf("variables in addition to PATH, HOME, TZ and LANG: NAME for the runner's value, or NAME=VALUE", 0,
			MaxEnv, variable)),
	shape.May("cwd", shape.Line("the working directory of the command, relative to the directory of this file; absent, that directory", 4096)),
	timeout,
	shape.May("max_output_bytes", shape.Number("the limit of stdout in bytes; absent, 1048576", 1, MaxOutputBytes)),
	shape.May("idempotent",
		shape.Switch("whether an interrupted run may be started again, at most twice; absent, false")),
	labels,
}}

// commandKeys are the members that only commands have.
var commandKeys = []string{"command", "argv", "params_via", "env", "cwd", "max_output_bytes", "idempotent"}

var variable = &shape.Shape{
	Kind: shape.Text, Doc: "NAME or NAME=VALUE", Most: MaxEnvBytes,
	Pattern:  regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(=[^\x00]*)?$`),
	Expected: "NAME or NAME=VALUE, the name of letters, digits and _",
}

// schemaOf returns the shape of a schema, which paramschema checks further.
func schemaOf(doc string) *shape.Shape { return shape.Open(doc, limits.MaxAgentSchemaBytes) }

// Schema returns the JSON Schema (draft 7) of a blueprint, which is docs/blueprint.schema.json.
func Schema() []byte {
	o := table.Schema()
	o["title"] = "Parley blueprint"
	o["description"] = "A file of parley run --blueprints: a command that is an agent, an LLM agent, a function or a " +
		"workflow."
	delete(o, "required") // it depends on the type
	properties := o["properties"].(yamlfile.Object)
	none, others, foreign := yamlfile.Object{}, yamlfile.Object{}, yamlfile.Object{}
	for _, k := range configKeys {
		k.schema["description"] = k.doc
		properties[k.name], others[k.name] = k.schema, false
	}
	for _, key := range commandKeys {
		none[key] = false
	}
	for _, m := range workflowMembers {
		properties[m.Name], foreign[m.Name] = m.Shape.Schema(), false
	}
	o["anyOf"] = []yamlfile.Object{{"required": []string{"name"}}, {"required": []string{"agent_id"}}}
	o["if"] = typeIs(parley.AgentTypeAgent)
	o["then"] = yamlfile.Object{"required": []string{"model"}, "properties": with(none, foreign)}
	o["else"] = yamlfile.Object{
		"properties": others,
		"if":         typeIs(parley.AgentTypeWorkflow),
		"then":       yamlfile.Object{"required": []string{"steps"}, "properties": none},
		"else": yamlfile.Object{
			"properties": foreign,
			"if":         typeIs(parley.AgentTypeFunction), "then": yamlfile.Object{"properties": none},
			"else": yamlfile.Object{
				"oneOf": []yamlfile.Object{
					{"required": []string{"command", "parameters_schema"}}, {"required": []string{"argv", "parameters_schema"}},
					{"required": []string{"subscriptions"}, "properties": with(none, yamlfile.Object{"type": false})},
				},
			},
		},
	}
	return yamlfile.EncodeSchema(o)
}

// typeIs returns the schema of a file with a type.
func typeIs(t parley.AgentType) yamlfile.Object {
	return yamlfile.Object{"required": []string{"type"},
		"properties": yamlfile.Object{"type": yamlfile.Object{"const": t}}}
}

// with merges objects.
func with(all ...yamlfile.Object) yamlfile.Object {
	o := yamlfile.Object{}
	for _, a := range all {
		maps.Copy(o, a)
	}
	return o
}

// content is the content of a file.
type content struct {
	Type             parley.AgentType  `json:"type"`
	Name             string            `json:"name"`
	AgentID          string            `json:"agent_id"`
	Description      string            `json:"description"`
	Subscriptions    json.RawMessage   `json:"subscriptions"`
	Steps            json.RawMessage   `json:"steps"`
	Output           json.RawMessage   `json:"output"`
	Command          string            `json:"command"`
	Argv             []string          `json:"argv"`
	ParametersSchema json.RawMessage   `json:"parameters_schema"`
	OutputSchema     json.RawMessage   `json:"output_schema"`
	ParamsVia        parley.ParamsVia  `json:"params_via"`
	Env              []string          `json:"env"`
	Cwd              string            `json:"cwd"`
	Timeout          string            `json:"timeout"`
	MaxOutputBytes   int               `json:"max_output_bytes"`
	Idempotent       bool              `json:"idempotent"`
	Labels           map[string]string `json:"labels"`
}
