package hub

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/sessions"
	"github.com/parleyhub/parley/hub/internal/triggers"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/arguments"
	"github.com/parleyhub/parley/internal/paramschema"
)

// sessionAgents implements sessions.Agents.
type sessionAgents struct{ hub *Hub }

// FindAgent returns the agent of a name: one that the hub's process registered, else one of executors
// whose tokens speak as that name, else one of a runner. A blueprint of the name describes the agent of
// executors.
func (a sessionAgents) FindAgent(name string, demands map[string]string) (*sessions.Agent, error) {
	plain, runnerID, at := strings.Cut(name, "@")
	if info, ok := a.hub.agents.info(name); ok && !at {
		return agentWithSchema(name, info.ParametersSchema)
	}
	if !at && a.hub.turns.HasExecutor(name) {
		switch b := a.hub.seated(name); {
		case b == nil:
			return agentWithSchema(name, nil)
		case !b.isCommand(): // runners run the sessions of commands, also if an executor has the seat
			return &sessions.Agent{Name: name, Type: b.Kind(), Parameters: b.parameters, MaxClaimMs: b.maxClaimMs()}, nil
		}
	}
	if b, met := a.hub.runners.find(plain, runnerID, demands); b != nil {
		return b.sessionAgent(name, met), nil
	}
	return nil, parley.Refuse(parley.ErrNotFound, fmt.Sprintf("there is no agent %s", policy.Clip(name)),
		"a name that listAgents gives")
}

func agentWithSchema(name string, schema json.RawMessage) (a *sessions.Agent, err error) {
	a = &sessions.Agent{Name: name, Type: parley.AgentTypeAgent, Parameters: paramschema.Prompt()}
	if len(schema) > 0 {
		a.Parameters, err = paramschema.Compile(schema)
	}
	return a, err
}

// FindOnRunner implements sessions.Agents.
func (a sessionAgents) FindOnRunner(name string, demands map[string]string) *sessions.Agent {
	plain, runnerID, _ := strings.Cut(name, "@")
	if b, met := a.hub.runners.find(plain, runnerID, demands); met {
		return b.sessionAgent(name, true)
	}
	return nil
}

// IsRegistered implements sessions.Agents.
func (a sessionAgents) IsRegistered(ref parley.RunnerRef, agent string, t parley.AgentType) (runnerIs, agentIs bool) {
	return a.hub.runners.has(ref), a.hub.runners.runs(ref, agent, t)
}

// FollowRunners implements sessions.Agents.
func (a sessionAgents) FollowRunners() error { return a.hub.runners.follow() }

// triggerAgent returns a blueprint with subscriptions as an agent of triggers, or nil.
func (b *blueprint) triggerAgent() *triggers.Agent {
	if b == nil || b.set == nil {
		return nil
	}
	return &triggers.Agent{Set: b.set, Workspaces: b.runner.Workspaces, Session: b.sessionAgent(b.Name, true)}
}

// setTriggers passes the blueprints of a name, of the first runner first, to the triggers. The mutex of
// the runners is held, so that no newer ones are passed before.
func (h *Hub) setTriggers(name string, blueprints []*blueprint) {
	var agents []*triggers.Agent
	for _, b := range blueprints {
		if a := b.triggerAgent(); a != nil {
			agents = append(agents, a)
		}
	}
	h.triggers.SetAgents(name, agents)
}

// sessionAgent returns the agent of a blueprint. met reports whether its runner runs the session.
func (b *blueprint) sessionAgent(name string, met bool) *sessions.Agent {
	a := &sessions.Agent{Name: name, Type: b.Kind(), Parameters: b.parameters, MaxClaimMs: b.maxClaimMs()}
	if b.isCommand() {
		a.TimeoutMs = cmp.Or(b.TimeoutMs, parley.DefaultSessionTimeoutMs)
		a.CheckArguments = func(parameters json.RawMessage) ([]parley.ValidationError, error) {
			_, faults, err := arguments.Give(b.ParamsVia, b.parameters.Properties(), parameters)
			return faults, err
		}
	}
	a.Hosted = !b.isCommand()
	if met {
		a.Runner, a.Idempotent = &b.runner.RunnerRef, b.Idempotent // another runner may not be idempotent
	}
	return a
}
