package hub

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/agentcontext"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/triggers"
)

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

// GetContext returns the context of an agent; see [agentcontext.Service.GetContext].
func (h *Hub) GetContext(
	ctx context.Context, p *auth.Principal, q *parley.GetContextParams,
) (*parley.GetContextResult, error) {
	return h.contexts.GetContext(ctx, p, q)
}
