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
)

// AgentConfig is what makes an LLM agent of a blueprint: the table of seed 002 and what a run needs besides. Every field is enforced, and an absent one has its default. It stands
// in a blueprint's file beside name and parameters_schema, and as agent_config in a Blueprint.
type AgentConfig struct {
	// Model is the runtime and what it calls the model, such as openai:gpt-4o.
	Model string `json:"model"`
	// Instructions are what the agent is to be and do.
	Instructions string `json:"instructions,omitempty"`
	// MaxSteps bounds the calls of the model in one turn, those of the planner too: 1 to MaxMaxSteps, with a planner at least 2; absent, DefaultMaxSteps.
	MaxSteps int `json:"max_steps,omitempty"`
	// Temperature is 0 to 2, and TopP more than 0 and at most 1; absent, the model's.
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	// MaxTokens bounds what the model says at once; absent, the model's bound.
	MaxTokens int `json:"max_tokens,omitempty"`
	// ContextWindow is how much the model takes; absent, what is known of the model.
	ContextWindow int `json:"context_window,omitempty"`

	// PlanningEnabled has a planner look first: with PlanningModel, absent the model itself, and PlanningInstructions, absent built-in ones.
	PlanningEnabled      bool   `json:"planning_enabled,omitempty"`
	PlanningModel        string `json:"planning_model,omitempty"`
	PlanningInstructions string `json:"planning_instructions,omitempty"`
	// BudgetAwareness is empty, per-message, or limit:N, where N is a percentage of the context window.
	BudgetAwareness string `json:"budget_awareness,omitempty"`
	// HITLTools are tools that run only once somebody has approved of it. HITLTimeoutMs is how long that may take: MinApprovalMs to MaxApprovalMs; absent, DefaultApprovalMs.
	HITLTools     []string `json:"hitl_tools,omitempty"`
	HITLTimeoutMs int64    `json:"hitl_timeout_ms,omitempty"`
	// EmitMCPProgress passes on the progress of tools of MCP servers; absent, true.
	EmitMCPProgress *bool `json:"emit_mcp_progress,omitempty"`
	// InjectedToolArgs are optional parameters that the model sees in every tool, with their descriptions, and that no tool gets.
	InjectedToolArgs map[string]string `json:"injected_tool_args,omitempty"`
	// AllowSelfSpawn gives it the tool spawn_self, and AllowParallelSubagents run_parallel_subagents, of at most MaxParallelSubagents jobs: 1 to MaxSubagents; absent,
	// DefaultSubagents. Children are sessions of the agent's name and ChildSuffix.
	AllowSelfSpawn         bool `json:"allow_self_spawn,omitempty"`
	AllowParallelSubagents bool `json:"allow_parallel_subagents,omitempty"`
	MaxParallelSubagents   int  `json:"max_parallel_subagents,omitempty"`

	// Tools are functions of the program that runs the agent, Agents other agents of the hub, which run as sessions, and MCPServers outside servers by a name of letters, digits, _ and -.
	// A tool is called by its name there, by AgentToolName or by MCPToolName.
	Tools      []string             `json:"tools,omitempty"`
	Agents     []string             `json:"agents,omitempty"`
	MCPServers map[string]MCPServer `json:"mcp_servers,omitempty"`
	// ChildTools are the tools that children may have; absent, all but hitl_tools. Children never get the two tools that start children.
	ChildTools []string `json:"child_tools,omitzero"`

	RunOptions *AgentRunOptions `json:"run_options,omitempty"`
}

// MCPServer is a server of the Model Context Protocol: a Command, or a URL. In Args, Env, URL and Headers ${NAME} stands for a variable of the process that runs the agent.
type MCPServer struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// Tools narrows to these, an empty list to none; absent, all that it offers.
	Tools []string `json:"tools,omitzero"`
}

// AgentRunOptions are the run options of seed 003.
type AgentRunOptions struct {
	// Deterministic clamps the sampling, and Seed is sent to models that take one.
	Deterministic bool   `json:"deterministic,omitempty"`
	Seed          *int64 `json:"seed,omitempty"`
	// Strict has the model held to the output_schema where it can be; absent, true. What it says is checked in any case.
	Strict *bool `json:"strict,omitempty"`
	// ResponsesUseInstructions sends the instructions beside the input where the API has a place for them; else they are its first message.
	ResponsesUseInstructions bool `json:"responses_use_instructions,omitempty"`
	// UserTemplate is what the model is told of a session's parameters, with {name} for each; {{ and }} are braces.
	UserTemplate string       `json:"user_template,omitempty"`
	Budget       *AgentBudget `json:"budget,omitempty"`
	// MaxToolCalls bounds the calls of tools in one turn; absent, none but max_steps does.
	MaxToolCalls int `json:"max_tool_calls,omitempty"`
	// MaxRetries is how often a call of the model that may succeed later is made again: 0 to MaxMaxRetries; absent, DefaultMaxRetries.
	MaxRetries *int `json:"max_retries,omitempty"`
	// Stream has the words of the model passed on as they come; absent, true.
	Stream *bool `json:"stream,omitempty"`
	// Metadata goes with each call to a provider that takes some.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// What happens when a budget is exceeded.
const (
	BudgetAbort   = "abort"   // the turn fails
	BudgetPartial = "partial" // what was said so far is the answer, marked as such
)

// AgentBudget bounds one turn: Tokens of all calls of models together, Ms of time, at least one of the two. OnExceeded is BudgetAbort or BudgetPartial; absent, BudgetAbort.
type AgentBudget struct {
	Tokens     int64  `json:"tokens,omitempty"`
	Ms         int64  `json:"ms,omitempty"`
	OnExceeded string `json:"on_exceeded,omitempty"`
}

// BudgetPerMessage is the value of budget_awareness besides limit:N.
const BudgetPerMessage = "per-message"

var (
	toolName     = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	serverName   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)
	argumentName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	headerName   = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")
	budgetLimit  = regexp.MustCompile(`^limit:(0|[1-9][0-9]?|100)$`)
)

// BudgetLimit gives N of a budget_awareness limit:N; false for another.
func (c *AgentConfig) BudgetLimit() (percent int, ok bool) {
	if !budgetLimit.MatchString(c.BudgetAwareness) {
		return 0, false
	}
	percent, _ = strconv.Atoi(strings.TrimPrefix(c.BudgetAwareness, "limit:"))
	return percent, true
}

// Spawns reports whether it has a tool that starts children.
func (c *AgentConfig) Spawns() bool { return c.AllowSelfSpawn || c.AllowParallelSubagents }

// EmitsMCPProgress is EmitMCPProgress with its default.
func (c *AgentConfig) EmitsMCPProgress() bool { return c.EmitMCPProgress == nil || *c.EmitMCPProgress }

// Subagents is MaxParallelSubagents with its default.
func (c *AgentConfig) Subagents() int {
	if c.MaxParallelSubagents == 0 {
		return limits.DefaultSubagents
	}
	return c.MaxParallelSubagents
}

// ParseAgentConfig reads a config. There is a config, or there are faults: all of them. It takes members by their exact names, and null for an absent one; of a member that is there twice
// the last counts, and doors and files refuse such.
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

// Validate gives all that is wrong with a config.
func (c *AgentConfig) Validate() []ValidationError {
	f := &configFaults{}
	c.check(f)
	return f.all
}

type configFaults struct {
	all  []ValidationError
	read int // how many of them are of what could not be read
}

// add adds one, unless what stands there, or a part of it, could not be read: then that was told.
func (f *configFaults) add(path, format string, args ...any) {
	if f.unread(path) {
		return
	}
	f.all = append(f.all, ValidationError{Path: path, Message: fmt.Sprintf(format, args...)})
}

// unread reports whether what stands at a path, around it or below it could not be read.
func (f *configFaults) unread(path string) bool {
	return slices.ContainsFunc(f.all[:f.read], func(e ValidationError) bool { return below(e.Path, path) || below(path, e.Path) })
}

// below reports whether a path is another one, or in it.
func below(path, of string) bool {
	rest, ok := strings.CutPrefix(path, of)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// object decodes the members of an object that have these names, and faults others.
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
			f.add(path+"."+name, "there is no such field: expected one of %s", strings.Join(slices.Sorted(maps.Keys(into)), ", "))
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
		f.add(path, "expected %s", kindOf(to))
		return
	}
	switch n := to.(type) { // absent is another value than these
	case *int:
		f.within(path, int64(*n), 1, math.MaxInt64)
	case *int64:
		f.within(path, *n, 1, math.MaxInt64)
	}
}

// hasNull reports whether a list or an object of texts has null for one.
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

// kindOf says in the words of JSON what a field takes.
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

// optional is within for a field whose 0 is an absent one.
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

// names faults a list that has too many, or one twice, or one that is not ok.
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
		"model": &c.Model, "instructions": &c.Instructions, "max_steps": &c.MaxSteps, "temperature": &c.Temperature, "top_p": &c.TopP,
		"max_tokens": &c.MaxTokens, "context_window": &c.ContextWindow,
		"planning_enabled": &c.PlanningEnabled, "planning_model": &c.PlanningModel, "planning_instructions": &c.PlanningInstructions,
		"budget_awareness": &c.BudgetAwareness, "hitl_tools": &c.HITLTools, "hitl_timeout_ms": &c.HITLTimeoutMs, "emit_mcp_progress": &c.EmitMCPProgress,
		"injected_tool_args": &c.InjectedToolArgs, "allow_self_spawn": &c.AllowSelfSpawn, "allow_parallel_subagents": &c.AllowParallelSubagents,
		"max_parallel_subagents": &c.MaxParallelSubagents, "tools": &c.Tools, "agents": &c.Agents, "child_tools": &c.ChildTools,
		"mcp_servers": func(path string, raw json.RawMessage) { c.readServers(f, path, raw) },
		"run_options": func(path string, raw json.RawMessage) {
			c.RunOptions = &AgentRunOptions{}
			f.object(path, raw, c.RunOptions.members(f))
		},
	}
}

func (c *AgentConfig) readServers(f *configFaults, path string, raw json.RawMessage) {
	var servers map[string]json.RawMessage
	if err := json.Unmarshal(raw, &servers); err != nil {
		f.add(path, "expected an object of servers")
		return
	}
	c.MCPServers = map[string]MCPServer{}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		var s MCPServer
		f.object(path+"."+name, servers[name], map[string]any{
			"command": &s.Command, "args": &s.Args, "env": &s.Env, "url": &s.URL, "headers": &s.Headers, "tools": &s.Tools,
		})
		c.MCPServers[name] = s
	}
}

func (o *AgentRunOptions) members(f *configFaults) map[string]any {
	return map[string]any{
		"deterministic": &o.Deterministic, "seed": &o.Seed, "strict": &o.Strict, "responses_use_instructions": &o.ResponsesUseInstructions,
		"user_template": &o.UserTemplate, "max_tool_calls": &o.MaxToolCalls, "max_retries": &o.MaxRetries, "stream": &o.Stream, "metadata": &o.Metadata,
		"budget": func(path string, raw json.RawMessage) {
			o.Budget = &AgentBudget{}
			f.object(path, raw, map[string]any{"tokens": &o.Budget.Tokens, "ms": &o.Budget.Ms, "on_exceeded": &o.Budget.OnExceeded})
		},
	}
}
