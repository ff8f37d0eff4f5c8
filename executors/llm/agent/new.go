package agent

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/paramschema"
	"github.com/parleyhub/parley/internal/toolnames"
)

// New returns the agent of a blueprint of type agent. It refuses an unknown runtime, function or
// field.
func New(b *parley.Blueprint, o *Options) (*Agent, error) {
	a := &Agent{blueprint: *b}
	if o != nil {
		a.o = *o
	}
	if a.log = a.o.Logger; a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	for _, check := range []func() error{a.readConfig, a.hashConfigs, a.readSchemas, a.findModels, a.checkWindow,
		a.makeBox} {
		if err := check(); err != nil {
			return nil, fmt.Errorf("agent %s: %w", b.Name, err)
		}
	}
	return a, nil
}

// readConfig reads the agent config.
func (a *Agent) readConfig() error {
	b := &a.blueprint
	switch {
	case !parley.ValidParticipantID(b.Name):
		return parley.Refuse(parley.ErrValidationFailed, "name is not a participant id",
			"1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit, not hub")
	case b.Type != parley.AgentTypeAgent:
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("type is %q", b.Type), string(parley.AgentTypeAgent))
	}
	config, faults := parley.ParseAgentConfig(b.AgentConfig)
	if len(faults) > 0 {
		return &parley.Error{
			Err: parley.ErrValidationFailed, Message: fmt.Sprintf("agent_config: %s: %s", faults[0].Path, faults[0].Message),
			Validation: &parley.ValidationFailure{AgentName: b.Name, ValidationErrors: faults},
		}
	}
	a.config = config
	switch {
	case config.Spawns() && len(b.Name) > toolnames.MaxSpawnerName:
		return parley.Refuse(parley.ErrValidationFailed, "the name is too long for an agent that starts children",
			fmt.Sprintf("at most %d bytes", toolnames.MaxSpawnerName))
	case config.PlanningEnabled && config.MaxSteps == 1:
		return parley.Refuse(parley.ErrValidationFailed, "planning_enabled with max_steps 1 leaves no step to the agent",
			"max_steps of at least 2")
	case len(config.MCPServers) > 0 && a.o.Connect == nil:
		return parley.Refuse(parley.ErrValidationFailed, "this program does not connect to mcp_servers",
			"no mcp_servers, or another program")
	}
	return nil
}

// readSchemas compiles the schemas of parameters and results.
func (a *Agent) readSchemas() (err error) {
	b := &a.blueprint
	parameters := paramschema.Prompt()
	if len(b.ParametersSchema) > 0 {
		if parameters, err = paramschema.Compile(b.ParametersSchema); err != nil {
			return fmt.Errorf("parameters_schema: %w", err)
		}
	}
	b.ParametersSchema = parameters.Raw()
	if len(b.OutputSchema) > 0 {
		if a.output, err = paramschema.Compile(b.OutputSchema); err != nil {
			return fmt.Errorf("output_schema: %w", err)
		}
	}
	if o := a.config.RunOptions; o != nil && o.UserTemplate != "" {
		if a.template, err = parseTemplate(o.UserTemplate); err != nil {
			return fmt.Errorf("run_options.user_template: %w", err)
		}
	}
	return nil
}

// findModels looks up the models in the runtimes.
func (a *Agent) findModels() (err error) {
	if a.main, err = a.find(a.config.Model); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	if w := a.config.ContextWindow; w > 0 {
		a.main.window = w
	}
	for _, full := range a.config.Fallbacks {
		m, err := a.find(full)
		if err != nil {
			return fmt.Errorf("fallbacks: %w", err)
		}
		a.fallbacks = append(a.fallbacks, m)
	}
	if !a.config.PlanningEnabled {
		return nil
	}
	if a.config.PlanningModel == "" || a.config.PlanningModel == a.config.Model {
		a.planner = a.main
		return nil
	}
	if a.planner, err = a.find(a.config.PlanningModel); err != nil {
		return fmt.Errorf("planning_model: %w", err)
	}
	if a.planner.window == 0 {
		a.planner.window = a.config.ContextWindow
	}
	return nil
}

func (a *Agent) find(full string) (*model, error) {
	r, name, err := a.o.Runtimes.Find(full)
	if err != nil {
		return nil, err
	}
	if a.hasTools() && !r.SupportsTools(name) {
		return nil, parley.Refuse(parley.ErrValidationFailed, full+" does not support tools",
			"no tools, agents, mcp_servers or children, or another model")
	}
	if least := r.Capabilities(name).MinOutputTokens; a.config.MaxTokens > 0 && a.config.MaxTokens < least {
		return nil, parley.Refuse(parley.ErrValidationFailed,
			fmt.Sprintf("max_tokens is %d, but %s needs at least %d", a.config.MaxTokens, full, least), "a larger max_tokens, or none")
	}
	d := &llm.Definition{Model: name, MaxTokens: a.config.MaxTokens, Parameters: a.parameters()}
	if err := r.CheckParameters(d, a.toolChoice()); err != nil {
		return nil, parley.Refuse(parley.ErrValidationFailed, err.Error(), "another value, or another model")
	}
	return &model{runtime: r, name: name, full: full, window: r.Capabilities(name).ContextWindow}, nil
}

// parameters returns the parameters of the config for calls of models.
func (a *Agent) parameters() llm.Parameters {
	c := a.config
	p := llm.Parameters{ReasoningEffort: c.ReasoningEffort, Stop: c.Stop, ParallelTools: c.ParallelToolCalls,
		PromptCaching: a.options().PromptCaching}
	if c.Thinking != nil {
		p.ThinkingTokens = c.Thinking.BudgetTokens
	}
	return p
}

// toolChoice returns the choice of tools in the config.
func (a *Agent) toolChoice() llm.ToolChoice {
	switch t := a.config.ToolChoice; t {
	case "", "auto":
		return llm.ToolsAuto
	case string(llm.ToolsNone), string(llm.ToolsRequired):
		return llm.ToolChoice(t)
	default:
		return llm.ToolNamed(t)
	}
}

func (a *Agent) hasTools() bool {
	c := a.config
	return len(c.Tools) > 0 || len(c.Agents) > 0 || len(c.MCPServers) > 0 || c.Spawns()
}

// checkWindow refuses a limit in percent if the size of the context window is unknown.
func (a *Agent) checkWindow() error {
	if _, limited := a.config.BudgetLimit(); !limited {
		return nil
	}
	for _, m := range []*model{a.main, a.planner} {
		if m != nil && m.window == 0 {
			return parley.Refuse(parley.ErrValidationFailed,
				fmt.Sprintf("budget_awareness is %s, but the context window of %s is unknown", a.config.BudgetAwareness, m.full),
				"context_window, or a model with a known window")
		}
	}
	return nil
}

// makeBox creates the tools. It also creates those of children, to find their errors early.
func (a *Agent) makeBox() (err error) {
	a.servers = newServers(a.o.Connect)
	if a.box, err = tool.New(a.boxOptions(a.config)); err != nil || !a.config.Spawns() {
		return err
	}
	child, err := tool.New(a.childBox(nil))
	if err != nil {
		return fmt.Errorf("children: %w", err)
	}
	return child.Close()
}

func (a *Agent) boxOptions(c *parley.AgentConfig) *tool.Options {
	o := &tool.Options{
		Name: a.blueprint.Name, Config: c, RunnerID: a.o.RunnerID, Functions: slices.Clone(a.o.Functions), Wrap: a.o.Wrap,
		ResultTokens: a.resultTokens(), Images: a.acceptsImages(), Meter: a.o.Meter, Logger: a.log,
	}
	if a.o.Connect != nil {
		o.Connect = a.servers.connect
	}
	return o
}

// options returns the run options of the config.
func (a *Agent) options() parley.AgentRunOptions {
	if a.config.RunOptions == nil {
		return parley.AgentRunOptions{}
	}
	return *a.config.RunOptions
}

func (a *Agent) streams() bool {
	s := a.options().Stream
	return s == nil || *s
}

func (a *Agent) maxSteps() int {
	if a.config.MaxSteps == 0 {
		return limits.DefaultMaxSteps
	}
	return a.config.MaxSteps
}

func (a *Agent) maxRetries() int {
	if n := a.options().MaxRetries; n != nil {
		return *n
	}
	return limits.DefaultMaxRetries
}
