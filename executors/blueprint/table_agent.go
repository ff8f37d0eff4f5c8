package blueprint

import (
	"maps"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/mcpentry"
	"github.com/parleyhub/parley/internal/shape"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// agentTable defines the members of an LLM agent's file: those of all blueprints, and those of an
// agent config, which parley.ParseAgentConfig checks.
var agentTable = &shape.Shape{Kind: shape.Object, Members: slices.Concat(
	hostedMembers, configMembers(),
)}

// configKey is one member of an agent config.
type configKey struct {
	name, doc string
	schema    yamlfile.Object
}

// configKeys are the members of parley.AgentConfig in the same order. A test compares both.
var configKeys = []configKey{
	{"model", "the runtime, a colon and the vendor's name of the model, such as openai:gpt-4o",
		yamlfile.Object{"type": "string", "pattern": `^[a-z][a-z0-9_-]*:[!-~]+$`, "maxLength": 233}},
	{"instructions", "the instructions of the agent", prose(limits.MaxInstructionsBytes)},
	{"max_steps", "calls of the model in one turn; absent, 12", whole(1, limits.MaxMaxSteps)},
	{"temperature", "the temperature; absent, the default of the model", yamlfile.Object{"type": nullable("number"), "minimum": 0, "maximum": 2}},
	{"top_p", "top_p; absent, the default of the model", yamlfile.Object{"type": nullable("number"), "exclusiveMinimum": 0, "maximum": 1}},
	{"max_tokens", "the limit of one answer of the model; absent, the limit of the model", whole(1, limits.MaxModelTokens)},
	{"reasoning_effort", "how much the model thinks; absent, the default of the model",
		yamlfile.Object{"type": nullable("string"),
			"enum": []any{"none", "minimal", "low", "medium", "high", "xhigh", "max", nil}}},
	{"thinking", "the budget of thoughts, for models of Anthropic; absent, none",
		orNull(yamlfile.Closed(yamlfile.Object{"budget_tokens": whole(1024, limits.MaxModelTokens)}))},
	{"stop", "texts at which the model stops", yamlfile.Object{"type": nullable("array"), "maxItems": limits.MaxStop,
		"items": yamlfile.Object{"type": "string"}}},
	{"tool_choice", "auto, none, required, or the tool that the model must call first; absent, auto",
		yamlfile.Object{"type": nullable("string"), "maxLength": 64}},
	{"parallel_tool_calls", "false if the model may call one tool at a time", flag()},
	{"fallbacks", "models that are called if a call of the model fails", yamlfile.Object{"type": nullable("array"),
		"maxItems": limits.MaxFallbacks, "items": yamlfile.Object{"type": "string"}}},
	{"context_window", "the context window in tokens; absent, the known window of the model", whole(256, limits.MaxModelTokens)},
	{"planning_enabled", "whether a planner runs first; absent, false", flag()},
	{"planning_model", "the model of the planner; absent, that of the agent", yamlfile.Object{"type": nullable("string"), "maxLength": 256}},
	{"planning_instructions", "the instructions of the planner; absent, built-in ones", prose(limits.MaxInstructionsBytes)},
	{"budget_awareness", "per-message, or limit:N, a percentage of the context window; absent, neither",
		yamlfile.Object{"type": nullable("string"), "pattern": `^(|per-message|limit:(0|[1-9][0-9]?|100))$`}},
	{"hitl_tools", "tools that run only after an approval", texts()},
	{"hitl_timeout_ms", "the timeout of an approval; absent, 600000", whole(limits.MinApprovalMs, limits.MaxApprovalMs)},
	{"emit_mcp_progress", "whether the progress of tools of MCP servers is traced; absent, true", flag()},
	{"injected_tool_args",
		"optional parameters, with descriptions, that the model sees in every tool but that no tool gets",
		mapOf("string", limits.MaxInjectedArgs)},
	{"allow_self_spawn", "enables the tool spawn_self; absent, false", flag()},
	{"allow_parallel_subagents", "enables the tool run_parallel_subagents; absent, false", flag()},
	{"max_parallel_subagents", "the limit of jobs in one call of run_parallel_subagents; absent, 3", whole(1, limits.MaxSubagents)},
	{"tools", "functions of the program that runs the agent", texts()},
	{"agents", "agents of the hub that are tools", texts()},
	{"mcp_servers", "MCP servers whose tools the agent has", serversSchema()},
	{"child_tools", "tools that children may have; absent, all except hitl_tools", texts()},
	{"run_options", "options of the model calls", runOptionsSchema()},
}

// configMembers accepts any value for each member, because an agent config is checked as a whole.
func configMembers() []shape.Member {
	all := make([]shape.Member, len(configKeys))
	for i, k := range configKeys {
		all[i] = shape.Member{Name: k.name, Required: k.name == "model", Shape: shape.Any(k.doc, limits.MaxAgentConfigBytes)}
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
	return yamlfile.Object{"type": nullable("array"), "maxItems": limits.MaxAgentTools, "uniqueItems": true,
		"items": yamlfile.Object{"type": "string"}}
}

// mapOf returns the schema of an object with any names and one type of values.
func mapOf(kind string, most int) yamlfile.Object {
	return yamlfile.Object{"type": nullable("object"), "maxProperties": most,
		"additionalProperties": yamlfile.Object{"type": kind}}
}

func orNull(o yamlfile.Object) yamlfile.Object {
	o["type"] = nullable("object")
	return o
}

func serversSchema() yamlfile.Object {
	text := func(doc string) yamlfile.Object {
		return yamlfile.Object{"type": nullable("string"), "description": doc}
	}
	switched := func(doc string) yamlfile.Object {
		return yamlfile.Object{"type": nullable("boolean"), "description": doc}
	}
	values := func() yamlfile.Object {
		o := mapOf("string", 64)
		o["additionalProperties"] = yamlfile.Object{"type": []string{"string", "number", "boolean", "null"}}
		return o
	}
	server := yamlfile.Closed(yamlfile.Object{
		"type": text("stdio, http, streamable-http or sse; absent, stdio for a command and http for a url"),
		"command": yamlfile.Object{"type": []string{"string", "array", "null"},
			"description": "a program that speaks MCP over stdin and stdout; alternative to url"},
		"args": list(), "env": values(),
		"env_file": text("a file with variables of the command, relative to the directory of this file"),
		"cwd":      text("the working directory of the command, relative to the directory of this file"),
		"url":      text("the address of a server over HTTP"),
		"headers":  values(),
		"tools": yamlfile.Object{"type": nullable("array"), "items": yamlfile.Object{"type": "string"},
			"description": "the tools to use; absent, all"},
		"disabled":      switched("whether the server is not started and has no tools; absent, false"),
		"optional":      switched("whether sessions run without the server if it cannot be reached; absent, false"),
		"start_timeout": text("the longest time to connect, and to list the tools: 100ms to 10m; absent, 30s"),
	})
	others := slices.Sorted(maps.Keys(mcpentry.OtherNames))
	others = append(others, slices.Sorted(maps.Keys(mcpentry.Ignored))...)
	server["patternProperties"] = yamlfile.Object{"^(" + strings.Join(others, "|") + "|enabled)$": yamlfile.Object{
		"description": "another name of a key, or a key of other products without an effect"}}
	wrapped := yamlfile.Object{"type": "object", "additionalProperties": server,
		"description": "the servers of an mcp.json file, which may be copied here as a whole"}
	return yamlfile.Object{"type": nullable("object"), "maxProperties": limits.MaxMCPServers,
		"properties": yamlfile.Object{"mcpServers": wrapped}, "additionalProperties": server}
}

// duration returns the schema of a duration such as 90s. The agent config has its bounds.
func duration(doc string) yamlfile.Object {
	return yamlfile.Object{"type": nullable("string"), "pattern": `^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`, "description": doc}
}

func list() yamlfile.Object {
	return yamlfile.Object{"type": nullable("array"),
		"items": yamlfile.Object{"type": []string{"string", "number", "boolean"}}}
}

func runOptionsSchema() yamlfile.Object {
	budget := orNull(yamlfile.Closed(yamlfile.Object{
		"tokens": whole(1, 1_000_000_000), "ms": whole(limits.MinDurationMs, limits.MaxTurnMs),
		"on_exceeded": yamlfile.Object{"type": nullable("string"),
			"enum": []any{parley.BudgetAbort, parley.BudgetPartial, nil}},
	}))
	budget["description"] = "the limit of one turn: tokens, ms or both"
	return orNull(yamlfile.Closed(yamlfile.Object{
		"deterministic": flag(), "seed": yamlfile.Object{"type": nullable("integer")}, "strict": flag(),
		"responses_use_instructions": flag(),
		"user_template":              prose(limits.MaxInstructionsBytes), "budget": budget, "max_tool_calls": whole(1, 10_000),
		"max_retries": whole(0, limits.MaxMaxRetries), "stream": flag(), "metadata": mapOf("string", 16),
		"idle_timeout":            duration("the time until the first byte of an answer, and between two parts; absent, 90s"),
		"request_timeout":         duration("the time of one whole call of the model; absent, 10m"),
		"tool_output_token_limit": whole(limits.MinToolOutputTokens, limits.MaxToolOutputTokens),
		"prompt_caching":          flag(),
	}))
}
