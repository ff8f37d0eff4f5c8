// Package randomconfig makes agent configs for tests.
package randomconfig

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// New makes a valid config. In JSON it is read as it is.
func New(r *rand.Rand) *parley.AgentConfig {
	maybe := func(f func()) {
		if r.IntN(2) == 0 {
			f()
		}
	}
	text := func() string {
		return []string{"x", "say <hi> & \"bye\"", "ä\u2028\U0001F600", strings.Repeat("long ", 50)}[r.IntN(4)]
	}
	c := &parley.AgentConfig{Model: []string{"openai:gpt-4o", "ollama:llama3:8b", "scripted:refund"}[r.IntN(3)]}
	maybe(func() { c.Instructions = text() })
	maybe(func() { c.MaxSteps = 1 + r.IntN(limits.MaxMaxSteps) })
	maybe(func() { c.Temperature = new(float64(r.IntN(201)) / 100) })
	maybe(func() { c.TopP = new(float64(1+r.IntN(100)) / 100) })
	maybe(func() { c.MaxTokens = 1 + r.IntN(limits.MaxModelTokens) })
	maybe(func() { c.ContextWindow = 256 + r.IntN(1<<20) })
	maybe(func() {
		c.PlanningEnabled, c.PlanningModel, c.PlanningInstructions = true, "openai:o4-mini", text()
		if c.MaxSteps == 1 {
			c.MaxSteps = 2
		}
	})
	maybe(func() {
		c.BudgetAwareness = []string{parley.BudgetPerMessage, fmt.Sprint("limit:", r.IntN(101))}[r.IntN(2)]
	})
	maybe(func() { c.EmitMCPProgress = new(r.IntN(2) == 0) })
	maybe(func() { c.InjectedToolArgs = map[string]string{"ui_request_id": text(), "_o": ""} })
	maybe(func() { c.AllowSelfSpawn = true })
	maybe(func() { c.ReasoningEffort, c.Stop = "high", []string{"END", text() + "."} })
	maybe(func() { c.Thinking = &parley.AgentThinking{BudgetTokens: 1024 + r.IntN(5000)} })
	maybe(func() { c.ToolChoice, c.ParallelToolCalls = "required", new(r.IntN(2) == 0) })
	maybe(func() { c.Fallbacks = []string{"anthropic:claude-sonnet-4-5"} })
	maybe(func() { c.AllowParallelSubagents, c.MaxParallelSubagents = true, r.IntN(limits.MaxSubagents+1) })
	maybe(func() {
		c.Tools, c.HITLTools, c.HITLTimeoutMs = []string{"now", "refund"}, []string{"refund"}, limits.MinApprovalMs+r.Int64N(1e6)
		c.ChildTools = [][]string{nil, {}, {"now"}}[r.IntN(3)]
	})
	maybe(func() { c.Agents = []string{"csv-profile", "ledger@box"} })
	maybe(func() {
		c.MCPServers = map[string]parley.MCPServer{
			"files": {Command: "mcp-files", Args: []string{"--root", "${ROOT}"}, Env: map[string]string{"A": "1"}, Tools: [][]string{nil, {}, {"read", "list"}}[r.IntN(3)]},
			"web":   {URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer ${KEY}"}},
		}
	})
	maybe(func() { c.RunOptions = options(r, maybe, text) })
	return c
}

func options(r *rand.Rand, maybe func(func()), text func() string) *parley.AgentRunOptions {
	o := &parley.AgentRunOptions{Deterministic: r.IntN(2) == 0, ResponsesUseInstructions: r.IntN(2) == 0}
	maybe(func() { o.Seed = new(r.Int64() - r.Int64()) })
	maybe(func() { o.Strict, o.Stream = new(r.IntN(2) == 0), new(r.IntN(2) == 0) })
	maybe(func() { o.UserTemplate = text() + "{prompt} {{}}" })
	maybe(func() { o.MaxToolCalls = 1 + r.IntN(10_000) })
	maybe(func() { o.ToolOutputTokenLimit = 256 + r.IntN(100_000) })
	maybe(func() { o.MaxRetries = new(r.IntN(limits.MaxMaxRetries + 1)) })
	maybe(func() { o.IdleTimeout, o.RequestTimeout = "1m30s", "15m" })
	maybe(func() { o.PromptCaching = new(r.IntN(2) == 0) })
	maybe(func() { o.Metadata = map[string]string{"team": text(), "x": ""} })
	maybe(func() { o.Budget = &parley.AgentBudget{Tokens: 1 + r.Int64N(1e9)} })
	maybe(func() {
		o.Budget = &parley.AgentBudget{Ms: limits.MinDurationMs + r.Int64N(1e6), OnExceeded: parley.BudgetPartial}
	})
	return o
}
