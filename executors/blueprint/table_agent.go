package blueprint

import (
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/shape"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// agentTable is all that the file of an LLM agent can say: what all blueprints have, and the keys of an agent config, which parley.ParseAgentConfig looks into.
var agentTable = &shape.Shape{Kind: shape.Object, Members: slices.Concat(
	hostedMembers, configMembers(),
)}

// configKey is one key of an agent config.
type configKey struct {
	name, doc string
	schema    yamlfile.Object
}

// configKeys are those of parley.AgentConfig, in its order. What holds them together is a test.
var configKeys = []configKey{
	{"model", "the runtime, a colon and what that calls the model, such as openai:gpt-4o",
		yamlfile.Object{"type": "string", "pattern": `^[a-z][a-z0-9_-]*:[!-~]+$`, "maxLength": 233}},
	{"instructions", "what the agent is to be and do", prose(parley.MaxInstructionsBytes)},
	{"max_steps", "calls of the model in one turn; absent, 12", whole(1, parley.MaxMaxSteps)},
	{"temperature", "absent, the model's", yamlfile.Object{"type": nullable("number"), "minimum": 0, "maximum": 2}},
	{"top_p", "absent, the model's", yamlfile.Object{"type": nullable("number"), "exclusiveMinimum": 0, "maximum": 1}},
	{"max_tokens", "what the model says at once; absent, the model's bound", whole(1, parley.MaxModelTokens)},
	{"context_window", "tokens that the model takes; absent, what is known of it", whole(256, parley.MaxModelTokens)},
	{"planning_enabled", "a planner looks first; absent, false", flag()},
	{"planning_model", "its model; absent, the agent's", yamlfile.Object{"type": nullable("string"), "maxLength": 256}},
	{"planning_instructions", "its instructions; absent, built-in ones", prose(parley.MaxInstructionsBytes)},
	{"budget_awareness", "per-message, or limit:N, a percentage of the context window; absent, neither",
		yamlfile.Object{"type": nullable("string"), "pattern": `^(|per-message|limit:(0|[1-9][0-9]?|100))$`}},
	{"hitl_tools", "tools that run only once somebody has approved of it", texts()},
	{"hitl_timeout_ms", "how long that may take; absent, 600000", whole(parley.MinApprovalMs, parley.MaxApprovalMs)},
	{"emit_mcp_progress", "pass on the progress of tools of MCP servers; absent, true", flag()},
	{"injected_tool_args",
		"optional parameters that the model sees in every tool and that no tool gets, with their descriptions",
		mapOf("string", parley.MaxInjectedArgs)},
	{"allow_self_spawn", "gives the tool spawn_self; absent, false", flag()},
	{"allow_parallel_subagents", "gives the tool run_parallel_subagents; absent, false", flag()},
	{"max_parallel_subagents", "jobs of one call of it; absent, 3", whole(1, parley.MaxSubagents)},
	{"tools", "functions of the program that runs the agent", texts()},
	{"agents", "agents of the hub that are tools", texts()},
	{"mcp_servers", "servers of the Model Context Protocol whose tools it has", serversSchema()},
	{"child_tools", "tools that children may have; absent, all but hitl_tools", texts()},
	{"run_options", "how its model is run", runOptionsSchema()},
}

// configMembers takes any value for each key: an agent config is checked as a whole.
func configMembers() []shape.Member {
	all := make([]shape.Member, len(configKeys))
	for i, k := range configKeys {
		all[i] = shape.Member{Name: k.name, Required: k.name == "model", Shape: shape.Any(k.doc, parley.MaxAgentConfigBytes)}
	}
	return all
}

func isConfigKey(name string) bool {
	return slices.ContainsFunc(configKeys, func(k configKey) bool { return k.name == name })
}

func nullable(kind string) []string { return []string{kind, "null"} }

func prose(most int) yamlfile.Object {
	return yamlfile.Object{"type": nullable("string"), "maxLength": most}
}

func whole(least, most int64) yamlfile.Object {
	return yamlfile.Object{"type": nullable("integer"), "minimum": least, "maximum": most}
}

func flag() yamlfile.Object { return yamlfile.Object{"type": nullable("boolean")} }

func texts() yamlfile.Object {
	return yamlfile.Object{"type": nullable("array"), "maxItems": parley.MaxAgentTools, "uniqueItems": true,
		"items": yamlfile.Object{"type": "string"}}
}

// mapOf is an object whose members have any name and one type.
func mapOf(kind string, most int) yamlfile.Object {
	return yamlfile.Object{"type": nullable("object"), "maxProperties": most,
		"additionalProperties": yamlfile.Object{"type": kind}}
}

func orNull(o yamlfile.Object) yamlfile.Object {
	o["type"] = nullable("object")
	return o
}

func serversSchema() yamlfile.Object {
	server := yamlfile.Closed(yamlfile.Object{
		"command": yamlfile.Object{"type": nullable("string"),
			"description": "a program that speaks over stdin and stdout; this or url"},
		"args": list(), "env": mapOf("string", 64),
		"url":     yamlfile.Object{"type": nullable("string"), "description": "where it is served over HTTP"},
		"headers": mapOf("string", 64),
		"tools": yamlfile.Object{"type": nullable("array"), "items": yamlfile.Object{"type": "string"},
			"description": "narrows to these; absent, all"},
	})
	return yamlfile.Object{"type": nullable("object"), "maxProperties": parley.MaxMCPServers,
		"additionalProperties": server}
}

func list() yamlfile.Object {
	return yamlfile.Object{"type": nullable("array"), "items": yamlfile.Object{"type": "string"}}
}

func runOptionsSchema() yamlfile.Object {
	budget := orNull(yamlfile.Closed(yamlfile.Object{
		"tokens": whole(1, 1_000_000_000), "ms": whole(parley.MinDurationMs, parley.MaxTurnMs),
		"on_exceeded": yamlfile.Object{"type": nullable("string"),
			"enum": []any{parley.BudgetAbort, parley.BudgetPartial, nil}},
	}))
	budget["description"] = "bounds one turn: tokens, ms or both"
	return orNull(yamlfile.Closed(yamlfile.Object{
		"deterministic": flag(), "seed": yamlfile.Object{"type": nullable("integer")}, "strict": flag(),
		"responses_use_instructions": flag(),
		"user_template":              prose(parley.MaxInstructionsBytes), "budget": budget, "max_tool_calls": whole(1, 10_000),
		"max_retries": whole(0, parley.MaxMaxRetries), "stream": flag(), "metadata": mapOf("string", 16),
	}))
}
