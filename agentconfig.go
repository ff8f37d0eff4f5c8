package parley

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/spelling"
)

// AgentConfig is the configuration of an LLM agent (seed 002, section 1). The hub checks every
// field, and an absent field has its default. In the file of a blueprint, the fields are beside
// name and parameters_schema. In a [Blueprint], they are agent_config.
type AgentConfig struct {
	// Model is the runtime and its name of the model, such as openai:gpt-4o.
	Model string `json:"model"`
	// Instructions are the instructions to the model, at most 64 KiB.
	Instructions string `json:"instructions,omitempty"`
	// MaxSteps is the maximum number of calls of models in one turn, including those of the planner. 1
	// to 100, or 2 to 100 with a planner; default 12.
	MaxSteps int `json:"max_steps,omitempty"`
	// Temperature is 0 to 2. TopP is more than 0 and at most 1. The default is that of the model.
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	// MaxTokens is the maximum number of tokens of one answer of the model. 1 to 10,000,000; default:
	// the bound of the model.
	MaxTokens int `json:"max_tokens,omitempty"`
	// ReasoningEffort is how much the model thinks: none, minimal, low, medium, high, xhigh or max.
	// Thinking is a budget of thoughts instead, for models of Anthropic. The default is that of the
	// model.
	ReasoningEffort string         `json:"reasoning_effort,omitempty"`
	Thinking        *AgentThinking `json:"thinking,omitempty"`
	// Stop are the texts at which the model stops: at most 4.
	Stop []string `json:"stop,omitempty"`
	// ToolChoice is auto, none, required, or the name of a tool that the model must call first. After
	// the first calls of tools, the model decides. Default auto.
	ToolChoice string `json:"tool_choice,omitempty"`
	// ParallelToolCalls is false if the model may call one tool at a time; default: that of the model.
	ParallelToolCalls *bool `json:"parallel_tool_calls,omitempty"`
	// Fallbacks are the models that are called, in this order, after a call of the model failed for a
	// reason that another model may not have. At most 4.
	Fallbacks []string `json:"fallbacks,omitempty"`
	// ContextWindow is the size of the context window of the model in tokens. 256 to 10,000,000;
	// default: the known size of the model.
	ContextWindow int `json:"context_window,omitempty"`

	// PlanningEnabled lets a planner write a plan first. It uses PlanningModel, or else Model, and
	// PlanningInstructions, or else built-in instructions.
	PlanningEnabled      bool   `json:"planning_enabled,omitempty"`
	PlanningModel        string `json:"planning_model,omitempty"`
	PlanningInstructions string `json:"planning_instructions,omitempty"`
	// BudgetAwareness is empty, per-message, or limit:N, where N is a percentage of the context
	// window.
	BudgetAwareness string `json:"budget_awareness,omitempty"`
	// HITLTools are the tools that run only after an approval. HITLTimeoutMs is the time to answer:
	// 100 ms to 7 days; default 10 minutes.
	HITLTools     []string `json:"hitl_tools,omitempty"`
	HITLTimeoutMs int64    `json:"hitl_timeout_ms,omitempty"`
	// EmitMCPProgress forwards the progress of tools of MCP servers; default true.
	EmitMCPProgress *bool `json:"emit_mcp_progress,omitempty"`
	// InjectedToolArgs are optional parameters, with their descriptions, that the model sees in every
	// tool. The tools do not receive them. At most 32.
	InjectedToolArgs map[string]string `json:"injected_tool_args,omitempty"`
	// AllowSelfSpawn adds the tool spawn_self. AllowParallelSubagents adds the tool
	// run_parallel_subagents, with at most MaxParallelSubagents jobs: 1 to 7; default 3. Children are
	// sessions of the agent with the name of this agent and the suffix .child.
	AllowSelfSpawn         bool `json:"allow_self_spawn,omitempty"`
	AllowParallelSubagents bool `json:"allow_parallel_subagents,omitempty"`
	MaxParallelSubagents   int  `json:"max_parallel_subagents,omitempty"`

	// Tools are functions of the program that runs the agent. Agents are other agents of the hub,
	// which run as sessions. MCPServers are external servers by name. The name of a tool is its entry
	// in Tools, the name of the agent with _ for characters that are not allowed, or the name of the
	// server, __ and the name of its tool. At most 128 tools, 128 agents and 16 servers.
	Tools      []string             `json:"tools,omitempty"`
	Agents     []string             `json:"agents,omitempty"`
	MCPServers map[string]MCPServer `json:"mcp_servers,omitempty"`
	// ChildTools are the tools that children may use; default: all except hitl_tools. Children never
	// have the two tools that start children.
	ChildTools []string `json:"child_tools,omitzero"`

	RunOptions *AgentRunOptions `json:"run_options,omitempty"`
}

// AgentThinking is the budget of the thoughts of one answer: 1,024 tokens and more.
type AgentThinking struct {
	BudgetTokens int `json:"budget_tokens"`
}

// AgentRunOptions are the run options of seed 003.
type AgentRunOptions struct {
	// Deterministic restricts sampling. Seed is sent to models that accept one.
	Deterministic bool   `json:"deterministic,omitempty"`
	Seed          *int64 `json:"seed,omitempty"`
	// Strict makes the model follow the output_schema if its API can enforce it; default true. The
	// output is validated in any case.
	Strict *bool `json:"strict,omitempty"`
	// ResponsesUseInstructions sends the instructions beside the input if the API has a field for
	// them. Otherwise they are the first message.
	ResponsesUseInstructions bool `json:"responses_use_instructions,omitempty"`
	// UserTemplate is the text in which the model receives the parameters of a session, with {name}
	// for each parameter. Write {{ and }} for braces. At most 64 KiB.
	UserTemplate string       `json:"user_template,omitempty"`
	Budget       *AgentBudget `json:"budget,omitempty"`
	// MaxToolCalls is the maximum number of calls of tools in one turn: 1 to 10,000; default: only
	// max_steps bounds them.
	MaxToolCalls int `json:"max_tool_calls,omitempty"`
	// ToolOutputTokenLimit is the maximum number of tokens of a tool result, and of the text of an
	// attachment, that the model reads: 256 to 1,000,000; default 25,000, and at most half of a known
	// context window. The rest is in a file, which the tool read_file reads.
	ToolOutputTokenLimit int `json:"tool_output_token_limit,omitempty"`
	// MaxRetries is how often a call of the model that can succeed later is repeated: 0 to 10; default
	// 2.
	MaxRetries *int `json:"max_retries,omitempty"`
	// IdleTimeout bounds the time until the first byte of an answer of the model, and between two parts
	// of it. Then the call is made again. It is a duration such as 60s, from 1s to 1h; default 90s for
	// streams, and only RequestTimeout for other calls. RequestTimeout bounds each whole call in the
	// same way: from 1s to 24h; default 10m.
	IdleTimeout    string `json:"idle_timeout,omitempty"`
	RequestTimeout string `json:"request_timeout,omitempty"`
	// PromptCaching marks the stable beginning of the prompt for the cache of Anthropic; default: for
	// Anthropic's own server.
	PromptCaching *bool `json:"prompt_caching,omitempty"`
	// Stream forwards the text of the model while it is generated; default true.
	Stream *bool `json:"stream,omitempty"`
	// Metadata is sent with each call to a provider that accepts metadata. At most 16 entries.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// The values of AgentBudget.OnExceeded.
const (
	BudgetAbort   = "abort"   // the turn fails
	BudgetPartial = "partial" // the text so far is the answer, and is marked as partial
)

// AgentBudget bounds one turn: Tokens of all calls of models, Ms of time, or both. OnExceeded is
// BudgetAbort or BudgetPartial; default BudgetAbort.
type AgentBudget struct {
	Tokens     int64  `json:"tokens,omitempty"`
	Ms         int64  `json:"ms,omitempty"`
	OnExceeded string `json:"on_exceeded,omitempty"`
}

// BudgetPerMessage is a value of AgentConfig.BudgetAwareness. The other one is limit:N.
const BudgetPerMessage = "per-message"

var (
	toolName     = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	serverName   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)
	argumentName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	headerName   = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")
	budgetLimit  = regexp.MustCompile(`^limit:(0|[1-9][0-9]?|100)$`)
)

// BudgetLimit returns N of the BudgetAwareness limit:N. It returns false for other values.
func (c *AgentConfig) BudgetLimit() (percent int, ok bool) {
	if !budgetLimit.MatchString(c.BudgetAwareness) {
		return 0, false
	}
	percent, _ = strconv.Atoi(strings.TrimPrefix(c.BudgetAwareness, "limit:"))
	return percent, true
}

// Spawns reports whether the agent has a tool that starts children.
func (c *AgentConfig) Spawns() bool { return c.AllowSelfSpawn || c.AllowParallelSubagents }

// EmitsMCPProgress returns EmitMCPProgress, or its default.
func (c *AgentConfig) EmitsMCPProgress() bool { return c.EmitMCPProgress == nil || *c.EmitMCPProgress }

// Subagents returns MaxParallelSubagents, or its default.
func (c *AgentConfig) Subagents() int {
	if c.MaxParallelSubagents == 0 {
		return limits.DefaultSubagents
	}
	return c.MaxParallelSubagents
}

// ParseAgentConfig reads a config. It returns either the config or all errors. Names of members are
// exact, and null means absent. If raw has a member twice, the last one counts; the servers and the
// readers of files refuse such members.
func ParseAgentConfig(raw json.RawMessage) (*AgentConfig, []ValidationError) {
	f := &configFaults{}
	if len(raw) > limits.MaxAgentConfigBytes {
		f.add("$", "expected at most %d bytes", limits.MaxAgentConfigBytes)
		return nil, f.all
	}
	c := &AgentConfig{}
	f.object("$", raw, c.members(f))
	f.read = len(f.all)
	c.check(f)
	if len(f.all) > 0 {
		return nil, f.all
	}
	return c, nil
}

// Validate returns all errors of a config.
func (c *AgentConfig) Validate() []ValidationError {
	f := &configFaults{}
	c.check(f)
	return f.all
}

type configFaults struct {
	all  []ValidationError
	read int // how many of them concern values that could not be decoded
}

// add adds an error, unless the value at path, or a part of it, could not be decoded.
func (f *configFaults) add(path, format string, args ...any) {
	if f.unread(path) {
		return
	}
	f.all = append(f.all, ValidationError{Path: path, Message: fmt.Sprintf(format, args...)})
}

// unread reports whether the value at path, around it or below it could not be decoded.
func (f *configFaults) unread(path string) bool {
	return slices.ContainsFunc(
		f.all[:f.read],
		func(e ValidationError) bool { return below(e.Path, path) || below(path, e.Path) },
	)
}

// below reports whether path is of, or below it.
func below(path, of string) bool {
	rest, ok := strings.CutPrefix(path, of)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// object decodes the members of an object that are in into, and reports others.
func (f *configFaults) object(path string, raw json.RawMessage, into map[string]any) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		f.add(path, "expected an object")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		to, known := into[name]
		switch value := members[name]; {
		case !known:
			near := spelling.Nearest(name, slices.Collect(maps.Keys(into)))
			if near == "" {
				near = "one of " + strings.Join(slices.Sorted(maps.Keys(into)), ", ")
			}
			f.add(path+"."+name, "there is no such field: expected %s", near)
		case string(bytes.TrimSpace(value)) == "null":
		default:
			f.member(path+"."+name, value, to)
		}
	}
}

func (f *configFaults) member(path string, value json.RawMessage, to any) {
	if read, nested := to.(func(path string, raw json.RawMessage)); nested {
		read(path, value)
		return
	}
	if err := json.Unmarshal(value, to); err != nil || hasNull(value, to) {
		if !f.badTexts(path, value, to) {
			f.add(path, "expected %s", kindOf(to))
		}
		return
	}
	switch n := to.(type) { // absent is another value than these
	case *int:
		f.within(path, int64(*n), 1, math.MaxInt64)
	case *int64:
		f.within(path, *n, 1, math.MaxInt64)
	}
}

// hasNull reports whether a list or an object of texts has a null element.
func hasNull(value json.RawMessage, to any) bool {
	switch to.(type) {
	case *[]string:
		var list []*string
		return json.Unmarshal(value, &list) != nil || slices.Contains(list, nil)
	case *map[string]string:
		var texts map[string]*string
		return json.Unmarshal(value, &texts) != nil || slices.Contains(slices.Collect(maps.Values(texts)), nil)
	}
	return false
}

// badTexts reports the members of an object of texts that are not texts. It returns false for other
// fields and values.
func (f *configFaults) badTexts(path string, value json.RawMessage, to any) bool {
	var members map[string]json.RawMessage
	if _, texts := to.(*map[string]string); !texts || json.Unmarshal(value, &members) != nil {
		return false
	}
	reported := false
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if text := bytes.TrimSpace(members[name]); text[0] != '"' {
			f.add(path+"."+name, "expected %s", kindOf(new(string)))
			reported = true
		}
	}
	return reported
}

// kindOf describes in terms of JSON the values that a field accepts.
func kindOf(to any) string {
	switch to.(type) {
	case *string:
		return "a text"
	case *bool, **bool:
		return "true or false"
	case *int, *int64, **int, **int64:
		return "an integer"
	case **float64:
		return "a number"
	case *[]string:
		return "a list of texts"
	}
	return "an object of texts"
}

func (f *configFaults) within(path string, n, least, most int64) {
	switch {
	case n >= least && n <= most:
	case most == math.MaxInt64:
		f.add(path, "expected at least %d", least)
	default:
		f.add(path, "expected %d to %d", least, most)
	}
}

// optional is within for a field in which 0 means absent.
func (f *configFaults) optional(path string, n, least, most int64) {
	if n != 0 {
		f.within(path, n, least, most)
	}
}

func (f *configFaults) text(path, s string, most int) {
	switch {
	case len(s) > most:
		f.add(path, "expected at most %d bytes", most)
	case !utf8.ValidString(s):
		f.add(path, "expected text in UTF-8")
	}
}

// names reports a list that is too long, or has a name twice, or a name that is not ok.
func (f *configFaults) names(path string, list []string, expected string, ok func(string) bool) {
	if len(list) > limits.MaxAgentTools {
		f.add(path, "expected at most %d", limits.MaxAgentTools)
		return
	}
	for i, name := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case !ok(name):
			f.add(at, "expected %s", expected)
		case slices.Contains(list[:i], name):
			f.add(at, "expected each name once")
		}
	}
}

func (c *AgentConfig) members(f *configFaults) map[string]any {
	return map[string]any{
		"model": &c.Model, "instructions": &c.Instructions, "max_steps": &c.MaxSteps, "temperature": &c.Temperature,
		"top_p":            &c.TopP,
		"reasoning_effort": &c.ReasoningEffort, "stop": &c.Stop, "tool_choice": &c.ToolChoice,
		"parallel_tool_calls": &c.ParallelToolCalls, "fallbacks": &c.Fallbacks,
		"thinking": func(path string, raw json.RawMessage) {
			c.Thinking = &AgentThinking{}
			f.object(path, raw, map[string]any{"budget_tokens": &c.Thinking.BudgetTokens})
		},
		"max_tokens": &c.MaxTokens, "context_window": &c.ContextWindow,
		"planning_enabled": &c.PlanningEnabled, "planning_model": &c.PlanningModel,
		"planning_instructions": &c.PlanningInstructions,
		"budget_awareness":      &c.BudgetAwareness, "hitl_tools": &c.HITLTools, "hitl_timeout_ms": &c.HITLTimeoutMs,
		"emit_mcp_progress":  &c.EmitMCPProgress,
		"injected_tool_args": &c.InjectedToolArgs, "allow_self_spawn": &c.AllowSelfSpawn,
		"allow_parallel_subagents": &c.AllowParallelSubagents,
		"max_parallel_subagents":   &c.MaxParallelSubagents, "tools": &c.Tools, "agents": &c.Agents,
		"child_tools": &c.ChildTools,
		"mcp_servers": func(path string, raw json.RawMessage) { c.readServers(f, path, raw) },
		"run_options": func(path string, raw json.RawMessage) {
			c.RunOptions = &AgentRunOptions{}
			f.object(path, raw, c.RunOptions.members(f))
		},
	}
}

func (o *AgentRunOptions) members(f *configFaults) map[string]any {
	return map[string]any{
		"deterministic": &o.Deterministic, "seed": &o.Seed, "strict": &o.Strict,
		"responses_use_instructions": &o.ResponsesUseInstructions,
		"user_template":              &o.UserTemplate, "max_tool_calls": &o.MaxToolCalls, "max_retries": &o.MaxRetries,
		"stream": &o.Stream, "metadata": &o.Metadata, "idle_timeout": &o.IdleTimeout, "request_timeout": &o.RequestTimeout,
		"tool_output_token_limit": &o.ToolOutputTokenLimit, "prompt_caching": &o.PromptCaching,
		"budget": func(path string, raw json.RawMessage) {
			o.Budget = &AgentBudget{}
			f.object(
				path,
				raw,
				map[string]any{"tokens": &o.Budget.Tokens, "ms": &o.Budget.Ms, "on_exceeded": &o.Budget.OnExceeded},
			)
		},
	}
}
