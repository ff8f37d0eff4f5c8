package hub

import (
	"context"
	"encoding/json"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/registry"
	"github.com/parleyhub/parley/hub/internal/sessions"
	"github.com/parleyhub/parley/hub/internal/triggers"
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
	_ context.Context, p *auth.Principal, q *parley.ListAgentsParams,
) (parley.ListAgentsResult, error) {
	return h.registry.ListAgents(p, q)
}

// RegisterBlueprints replaces the agents of the executor of p's connection. Without blueprints the
// executor leaves. The calls of a connection take effect in their order.
func (h *Hub) RegisterBlueprints(
	p *auth.Principal, q *parley.RegisterBlueprintsParams, done func(parley.RegisterBlueprintsResult, error),
) {
	h.registry.RegisterBlueprints(p, q, done)
}

func (c *client) RegisterBlueprints(
	ctx context.Context, q *parley.RegisterBlueprintsParams,
) (*parley.RegisterBlueprintsResult, error) {
	q = orZero(q)
	for i := range q.Blueprints {
		for _, schema := range [][]byte{q.Blueprints[i].ParametersSchema, q.Blueprints[i].OutputSchema} {
			if err := checkSchema(schema); err != nil {
				return nil, err
			}
		}
	}
	r, err := write(c, ctx, func(done func(parley.RegisterBlueprintsResult, error)) {
		c.hub.RegisterBlueprints(c.caller(), q, done)
	})
	return orNil(r, err)
}

// checkSchema is checkJSON for a schema, which is at level 4 of the reply to listAgents.
func checkSchema(raw json.RawMessage) error { return checkJSON(raw, 4) }

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
