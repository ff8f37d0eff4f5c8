package hub

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/registry"
	"github.com/parleyhub/parley/hub/internal/sessions"
	"github.com/parleyhub/parley/hub/internal/triggers"
	"github.com/parleyhub/parley/hub/internal/turns"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/arguments"
	"github.com/parleyhub/parley/internal/paramschema"
)

// sessionAgents implements sessions.Agents.
type sessionAgents struct {
	registry *registry.Registry
	turns    *turns.Dispatcher
}

// FindAgent returns the agent of a name: one that the hub's process registered, else one of executors
// whose tokens speak as that name, else one of a runner. A blueprint of the name describes the agent of
// executors.
func (a sessionAgents) FindAgent(name string, demands map[string]string) (*sessions.Agent, error) {
	plain, runnerID, at := strings.Cut(name, "@")
	if info := a.registry.HubAgent(name); info != nil && !at {
		return agentWithSchema(name, info.ParametersSchema)
	}
	if !at && a.turns.HasExecutor(name) {
		switch b := a.registry.OfExecutors(name); {
		case b == nil:
			return agentWithSchema(name, nil)
		case !b.IsCommand(): // runners run the sessions of commands, also if an executor has the seat
			return &sessions.Agent{Name: name, Type: b.Kind(), Parameters: b.Parameters, MaxClaimMs: b.MaxClaimMs()}, nil
		}
	}
	if b, met := a.registry.Find(plain, runnerID, demands); b != nil {
		return sessionAgent(b, name, met), nil
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
	if b, met := a.registry.Find(plain, runnerID, demands); met {
		return sessionAgent(b, name, true)
	}
	return nil
}

// IsRegistered implements sessions.Agents.
func (a sessionAgents) IsRegistered(ref parley.RunnerRef, agent string, t parley.AgentType) (runnerIs, agentIs bool) {
	b := a.registry.BlueprintOf(ref, agent)
	return a.registry.Has(ref), b != nil && b.Kind() == t
}

// FollowRunners implements sessions.Agents.
func (a sessionAgents) FollowRunners() error { return a.registry.Follow() }

// triggerAgent returns a blueprint with subscriptions as an agent of triggers, or nil.
func triggerAgent(b *registry.Blueprint) *triggers.Agent {
	if b == nil || b.Selectors == nil {
		return nil
	}
	return &triggers.Agent{Set: b.Selectors, Workspaces: b.Runner.Workspaces, Session: sessionAgent(b, b.Name, true)}
}

// sessionAgent returns the agent of a blueprint. met reports whether its runner runs the session.
func sessionAgent(b *registry.Blueprint, name string, met bool) *sessions.Agent {
	a := &sessions.Agent{Name: name, Type: b.Kind(), Parameters: b.Parameters, MaxClaimMs: b.MaxClaimMs()}
	if b.IsCommand() {
		a.TimeoutMs = cmp.Or(b.TimeoutMs, parley.DefaultSessionTimeoutMs)
		a.CheckArguments = func(parameters json.RawMessage) ([]parley.ValidationError, error) {
			_, faults, err := arguments.Give(b.ParamsVia, b.Parameters.Properties(), parameters)
			return faults, err
		}
	}
	a.Hosted = !b.IsCommand()
	if met {
		a.Runner, a.Idempotent = &b.Runner.RunnerRef, b.Idempotent // another runner may not be idempotent
	}
	return a
}
