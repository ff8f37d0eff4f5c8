package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/internal/agentcontext"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/registry"
	"github.com/parleyhub/parley/hub/internal/sessions"
	"github.com/parleyhub/parley/hub/internal/triggers"
	"github.com/parleyhub/parley/hub/internal/turns"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/arguments"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/paramschema"
)

// RegisterAgent offers an agent to all callers that may read, until remove is called; remove may be
// called more than once. The name is that of a participant. The hub sets Online. It fails with
// ErrValidationFailed, ErrAlreadyExists, or ErrTooLarge (also if all agents would not fit into one
// answer of listAgents).
func (h *Hub) RegisterAgent(info parley.AgentInfo) (remove func(), err error) {
	return h.registry.RegisterAgent(info)
}

// ListAgents returns the registered agents by name.
func (h *Hub) ListAgents(
	_ context.Context, p *Principal, q *parley.ListAgentsParams,
) (parley.ListAgentsResult, error) {
	return h.registry.ListAgents(p, q)
}

// RegisterBlueprints replaces the agents of the executor of p's connection. Without blueprints the
// executor leaves. The calls of a connection take effect in their order.
func (h *Hub) RegisterBlueprints(
	p *Principal, q *parley.RegisterBlueprintsParams, done func(parley.RegisterBlueprintsResult, error),
) {
	h.registry.RegisterBlueprints(p, q, done)
}

// schemaLevel is the number of levels of a schema in the reply to listAgents.
const schemaLevel = 4

func checkSchema(raw json.RawMessage) error { return check.JSON(raw, schemaLevel) }

// StartSession starts a session; see [sessions.Service.Start].
func (h *Hub) StartSession(ctx context.Context, p *Principal, q *parley.StartSessionParams) (*parley.Session, error) {
	return auth.CallFresh(ctx, h.auth, func() (*parley.Session, error) { return h.sessions.Start(ctx, p, q) })
}

// GetSession returns a session; see [sessions.Service.Get].
func (h *Hub) GetSession(ctx context.Context, p *Principal, q *parley.GetSessionParams) (*parley.Session, error) {
	return auth.CallFresh(ctx, h.auth, func() (*parley.Session, error) { return h.sessions.Get(ctx, p, q) })
}

// StopSession ends a session; see [sessions.Service.Stop].
func (h *Hub) StopSession(ctx context.Context, p *Principal, q *parley.StopSessionParams) (*parley.Session, error) {
	return auth.CallFresh(ctx, h.auth, func() (*parley.Session, error) { return h.sessions.Stop(ctx, p, q) })
}

// ExplainTriggers returns which agents an event triggers; see [triggers.Service.Explain].
func (h *Hub) ExplainTriggers(
	ctx context.Context, p *Principal, q *parley.ExplainTriggersParams,
) (*parley.ExplainTriggersResult, error) {
	return auth.CallFresh(ctx, h.auth, func() (*parley.ExplainTriggersResult, error) {
		return h.triggers.Explain(ctx, p, q)
	})
}

// GetContext returns the context of an agent; see [agentcontext.Service.GetContext].
func (h *Hub) GetContext(
	ctx context.Context, p *Principal, q *parley.GetContextParams,
) (*parley.GetContextResult, error) {
	return h.contexts.GetContext(ctx, p, q)
}

func newContexts(h *Hub) *agentcontext.Service {
	return agentcontext.New(agentcontext.Options{
		Engine: h.conv, Auth: h.auth, Embedder: h.opts.Embedder, VectorFile: h.opts.VectorFile,
		PinConversation: h.turns.Pin,
		FindSeated:      func(name string) agentcontext.Agent { return contextAgent(h.triggers.FindSeated(name)) },
		FindOfRunner: func(name string, runner parley.RunnerRef) agentcontext.Agent {
			return contextAgent(triggerAgent(h.registry.BlueprintOf(runner, name)))
		},
	})
}

// contextAgent returns the part of an agent on which contexts depend; a may be nil.
func contextAgent(a *triggers.Agent) agentcontext.Agent {
	if a == nil {
		return agentcontext.Agent{}
	}
	return agentcontext.Agent{Set: a.Set, Workspaces: a.Workspaces}
}

// fetchContext returns the sources of a context, as far as q.By may see them. If the deadline ends the
// fetch, each source has an error.
func (h *Hub) fetchContext(ctx context.Context, q *triggers.ContextQuery) ([]parley.ContextSource, error) {
	skip := slices.ContainsFunc(q.Agent.Workspaces, func(w string) bool { return !q.By.Grants(w) })
	return h.contexts.FetchSources(ctx, q.Deadline, &agentcontext.Query{
		Agent: contextAgent(q.Agent), AgentID: q.AgentID, ConversationID: q.ConversationID,
		QuestionID: q.ConversationID, Triggers: []parley.SessionTrigger{q.Trigger},
		Reaches: q.By.Reaches, SkipWorkspaces: skip,
	})
}

// registryObserver passes changes of the registry to sessions and triggers.
type registryObserver struct {
	sessions *sessions.Service
	triggers *triggers.Service
}

// RunnersChanged implements registry.Observer.
func (o registryObserver) RunnersChanged(runners []parley.RunnerRef, foreign bool) {
	for _, ref := range runners {
		o.sessions.QueueOfRunner(ref, foreign)
	}
	o.triggers.QueueWaiting(foreign)
}

// SubscriptionsChanged implements registry.Observer.
func (o registryObserver) SubscriptionsChanged(agent string, blueprints []*registry.Blueprint) {
	var agents []*triggers.Agent
	for _, b := range blueprints {
		if a := triggerAgent(b); a != nil {
			agents = append(agents, a)
		}
	}
	o.triggers.SetAgents(agent, agents)
}

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
		"a name from listAgents")
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
		a.TimeoutMs = cmp.Or(b.TimeoutMs, limits.DefaultSessionTimeoutMs)
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
