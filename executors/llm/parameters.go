package llm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The bounds of Parameters.
const (
	MaxStop           = 4 // of OpenAI
	MinThinkingTokens = 1024
)

// budgets are the thinking budgets for efforts, as in LiteLLM.
var budgets = map[string]int{"minimal": 1024, "low": 1024, "medium": 2048, "high": 4096, "xhigh": 8192, "max": 16384}

// CheckParameters returns an error that names each parameter of a definition that the model does not
// support.
func (r *Runtime) CheckParameters(d *Definition, choice ToolChoice) error {
	can := r.Capabilities(d.Model)
	return can.checkParameters(d, choice)
}

func (c *Capabilities) checkParameters(d *Definition, choice ToolChoice) error {
	var errs []error
	refuse := func(refused bool, format string, args ...any) {
		if refused {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	p := &d.Parameters
	effort, budget := p.ReasoningEffort, p.ThinkingTokens
	refuse(effort != "" && !slices.Contains(Efforts, effort), "reasoning_effort: invalid value %q: expected one of %s",
		effort, strings.Join(Efforts, ", "))
	refuse(effort != "" && c.NoReasoningEffort, "reasoning_effort: the model %s does not support it", d.Model)
	refuse(budget != 0 && budget < MinThinkingTokens, "thinking.budget_tokens: expected at least %d", MinThinkingTokens)
	refuse(budget != 0 && c.NoThinkingBudget, "thinking: the model %s has no thinking budget: expected reasoning_effort",
		d.Model)
	refuse(budget != 0 && effort != "", "thinking and reasoning_effort are mutually exclusive")
	refuse(budget != 0 && d.MaxTokens > 0 && budget >= d.MaxTokens,
		"thinking.budget_tokens: expected less than max_tokens, which is %d", d.MaxTokens)
	_, named := choice.Tool()
	refuse(budget != 0 && (named || choice == ToolsRequired), "tool_choice: %s and thinking are mutually exclusive", choice)
	refuse(len(p.Stop) > MaxStop || slices.Contains(p.Stop, ""), "stop: expected at most %d texts that are not empty",
		MaxStop)
	refuse(len(p.Stop) > 0 && c.API == APIResponses, "stop: the Responses API does not support it: expected api: chat")
	refuse(len(p.Stop) > 0 && c.API != APIResponses && c.NoStop, "stop: the model %s does not support it", d.Model)
	return errors.Join(errs...)
}

// parameters returns the parameters to send.
func (c *Capabilities) parameters(d *Definition) Parameters {
	p := d.Parameters
	p.Stop = slices.Clone(p.Stop)
	if c.EffortAsBudget && p.ReasoningEffort != "" {
		p.ThinkingTokens, p.ReasoningEffort = budgets[p.ReasoningEffort], ""
		if d.MaxTokens > 0 && p.ThinkingTokens >= d.MaxTokens {
			p.ThinkingTokens = 0 // the answer has no room for thoughts
		}
	}
	return p
}
