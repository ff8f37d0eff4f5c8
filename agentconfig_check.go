package parley

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/toolnames"
)

// check reports all invalid values among those that could be decoded.
func (c *AgentConfig) check(f *configFaults) {
	const model = "expected a runtime, a colon and a model, such as openai:gpt-4o"
	if !toolnames.ValidModel(c.Model) {
		f.add("$.model", model)
	}
	if c.PlanningModel != "" && !toolnames.ValidModel(c.PlanningModel) {
		f.add("$.planning_model", model)
	}
	f.text("$.instructions", c.Instructions, limits.MaxInstructionsBytes)
	f.text("$.planning_instructions", c.PlanningInstructions, limits.MaxInstructionsBytes)
	f.optional("$.max_steps", int64(c.MaxSteps), 1, limits.MaxMaxSteps)
	if c.PlanningEnabled && c.MaxSteps == 1 {
		f.add("$.max_steps", "expected at least 2 with planning_enabled: the planner takes one")
	}
	f.optional("$.max_tokens", int64(c.MaxTokens), 1, limits.MaxModelTokens)
	f.optional("$.context_window", int64(c.ContextWindow), 256, limits.MaxModelTokens)
	f.optional("$.hitl_timeout_ms", c.HITLTimeoutMs, limits.MinApprovalMs, limits.MaxApprovalMs)
	f.optional("$.max_parallel_subagents", int64(c.MaxParallelSubagents), 1, limits.MaxSubagents)
	if t := c.Temperature; t != nil && !(*t >= 0 && *t <= 2) {
		f.add("$.temperature", "expected 0 to 2")
	}
	if p := c.TopP; p != nil && !(*p > 0 && *p <= 1) {
		f.add("$.top_p", "expected more than 0 and at most 1")
	}
	if c.BudgetAwareness != "" && c.BudgetAwareness != BudgetPerMessage && !budgetLimit.MatchString(c.BudgetAwareness) {
		f.add("$.budget_awareness", "expected %s, or limit: and a percentage from 0 to 100", BudgetPerMessage)
	}
	c.checkParameters(f)
	c.checkInjected(f)
	c.checkTools(f)
	if c.RunOptions != nil {
		c.RunOptions.check(f)
	}
}

// checkParameters reports values that no model accepts. The runner checks them for the model.
func (c *AgentConfig) checkParameters(f *configFaults) {
	const efforts = "none minimal low medium high xhigh max"
	if e := c.ReasoningEffort; e != "" && !slices.Contains(strings.Fields(efforts), e) {
		f.add("$.reasoning_effort", "expected one of %s", strings.ReplaceAll(efforts, " ", ", "))
	}
	if c.Thinking != nil {
		f.within("$.thinking.budget_tokens", int64(c.Thinking.BudgetTokens), 1024, limits.MaxModelTokens)
	}
	if len(c.Stop) > limits.MaxStop || slices.Contains(c.Stop, "") {
		f.add("$.stop", "expected at most %d texts that are not empty", limits.MaxStop)
	}
	if t := c.ToolChoice; t != "" && !toolName.MatchString(t) {
		f.add("$.tool_choice", "expected auto, none, required or the name of a tool")
	}
	if len(c.Fallbacks) > limits.MaxFallbacks {
		f.add("$.fallbacks", "expected at most %d", limits.MaxFallbacks)
	}
	for i, m := range c.Fallbacks {
		if !toolnames.ValidModel(m) || m == c.Model || slices.Contains(c.Fallbacks[:i], m) {
			f.add(fmt.Sprintf("$.fallbacks[%d]", i), "expected another model, such as anthropic:claude-sonnet-4-5")
		}
	}
}

func (c *AgentConfig) checkInjected(f *configFaults) {
	if len(c.InjectedToolArgs) > limits.MaxInjectedArgs {
		f.add("$.injected_tool_args", "expected at most %d", limits.MaxInjectedArgs)
	}
	for _, name := range slices.Sorted(maps.Keys(c.InjectedToolArgs)) {
		path := "$.injected_tool_args." + name
		if !argumentName.MatchString(name) {
			f.add(path, "expected a name of 1 to 64 letters, digits, _ and -, which begins with a letter or _")
		}
		f.text(path, c.InjectedToolArgs[name], MaxReasonBytes)
	}
}

func (c *AgentConfig) checkTools(f *configFaults) {
	const name = "a name of 1 to 64 letters, digits, _ and -"
	isTool := func(s string) bool {
		return toolName.MatchString(s) && s != toolnames.SpawnSelf && s != toolnames.Parallel
	}
	f.names("$.tools", c.Tools, name+", not "+toolnames.SpawnSelf+" or "+toolnames.Parallel, isTool)
	f.names(
		"$.agents",
		c.Agents,
		"the name of an agent, or name@runner",
		func(s string) bool { return ValidAgentName(s) && isTool(toolnames.ForAgent(s)) },
	)
	own := slices.Concat(c.Tools, toolnames.ForAgents(c.Agents, c.Tools))
	c.checkServers(f, own)
	if slices.ContainsFunc([]string{"$.tools", "$.agents", "$.mcp_servers"}, f.unread) {
		return // the set of tools is not known
	}
	f.names(
		"$.child_tools",
		c.ChildTools,
		"a tool of this agent: "+c.known(own),
		func(s string) bool { return c.has(own, s) },
	)
	if c.AllowSelfSpawn {
		own = append(own, toolnames.SpawnSelf)
	}
	if c.AllowParallelSubagents {
		own = append(own, toolnames.Parallel)
	}
	f.names(
		"$.hitl_tools",
		c.HITLTools,
		"a tool of this agent: "+c.known(own),
		func(s string) bool { return c.has(own, s) },
	)
}

// checkServers reports errors of the servers, and names of servers with which two tools would have
// the same name.
func (c *AgentConfig) checkServers(f *configFaults, own []string) {
	if len(c.MCPServers) > limits.MaxMCPServers {
		f.add("$.mcp_servers", "expected at most %d", limits.MaxMCPServers)
	}
	for _, server := range slices.Sorted(maps.Keys(c.MCPServers)) {
		path := "$.mcp_servers." + server
		if !serverName.MatchString(server) || strings.Contains(server+"_", "__") {
			f.add(path, "expected a name of 1 to 32 letters, digits, _ and -, without two _ in a row or one at the end")
		}
		if i := slices.IndexFunc(own, func(t string) bool { return strings.HasPrefix(t, server+"__") }); i >= 0 {
			f.add(path, "expected another name: the tool %s is named as if it were of this server", own[i])
		}
		s := c.MCPServers[server]
		s.check(f, path)
	}
}

// has reports whether a tool can exist. Only an MCP server itself knows the tools that it offers.
func (c *AgentConfig) has(own []string, name string) bool {
	if slices.Contains(own, name) {
		return true
	}
	server, tool, ok := strings.Cut(name, "__")
	s, declared := c.MCPServers[server]
	if !ok || !declared || tool == "" || !toolName.MatchString(name) {
		return false
	}
	return s.Tools == nil ||
		slices.Contains(toolnames.ForServer(server, s.Tools, nil), name)
}

// known lists the tools for an error.
func (c *AgentConfig) known(own []string) string {
	all := slices.Compact(slices.Sorted(slices.Values(own)))
	for _, server := range slices.Sorted(maps.Keys(c.MCPServers)) {
		all = append(all, server+"__...")
	}
	if len(all) == 0 {
		return "it has none"
	}
	return strings.Join(all, ", ")
}

func (o *AgentRunOptions) check(f *configFaults) {
	const path = "$.run_options"
	f.text(path+".user_template", o.UserTemplate, limits.MaxInstructionsBytes)
	f.template(path+".user_template", o.UserTemplate)
	f.optional(path+".max_tool_calls", int64(o.MaxToolCalls), 1, 10_000)
	f.optional(path+".tool_output_token_limit", int64(o.ToolOutputTokenLimit), limits.MinToolOutputTokens,
		limits.MaxToolOutputTokens)
	if o.MaxRetries != nil {
		f.within(path+".max_retries", int64(*o.MaxRetries), 0, limits.MaxMaxRetries)
	}
	f.duration(path+".idle_timeout", o.IdleTimeout, limits.MaxIdleMs)
	f.duration(path+".request_timeout", o.RequestTimeout, limits.MaxRequestMs)
	if len(o.Metadata) > 16 {
		f.add(path+".metadata", "expected at most 16")
	}
	for _, name := range slices.Sorted(maps.Keys(o.Metadata)) {
		at, value := path+".metadata."+name, o.Metadata[name]
		switch n := utf8.RuneCountInString(name); {
		case n < 1 || n > 64:
			f.add(at, "expected a name of 1 to 64 characters")
		case utf8.RuneCountInString(value) > 512:
			f.add(at, "expected at most 512 characters")
		default:
			f.text(at, name+value, 4*(64+512))
		}
	}
	if o.Budget == nil {
		return
	}
	b := o.Budget
	if b.Tokens == 0 && b.Ms == 0 {
		f.add(path+".budget", "expected tokens, ms or both")
	}
	f.optional(path+".budget.tokens", b.Tokens, 1, 1_000_000_000)
	f.optional(path+".budget.ms", b.Ms, limits.MinDurationMs, limits.MaxTurnMs)
	if b.OnExceeded != "" && b.OnExceeded != BudgetAbort && b.OnExceeded != BudgetPartial {
		f.add(path+".budget.on_exceeded", "expected %s or %s", BudgetAbort, BudgetPartial)
	}
}

// duration reports a text that is not a duration from 1s to a number of milliseconds. An empty text
// is absent.
func (f *configFaults) duration(path, text string, mostMs int64) {
	if text == "" {
		return
	}
	most := time.Duration(mostMs) * time.Millisecond
	if d, err := time.ParseDuration(text); err != nil || d < time.Second || d > most {
		f.add(path, "expected a duration from 1s to %s, such as 90s", strings.TrimSuffix(most.String(), "0m0s"))
	}
}

// template reports the first brace that is not part of {name}, {{ or }}.
func (f *configFaults) template(path, s string) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '{' && s[i] != '}':
		case i+1 < len(s) && s[i+1] == s[i]:
			i++
		case s[i] == '}':
			f.add(path, "expected }} for a brace at byte %d", i)
			return
		default:
			name, _, closed := strings.Cut(s[i+1:], "}")
			if !closed || name == "" || strings.ContainsAny(name, "{ \t\n") {
				f.add(path, "expected {, a name and } at byte %d, or {{ for a brace", i)
				return
			}
			i += len(name) + 1
		}
	}
}
