package hub

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/agentcontext"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/registry"
)

func newContexts(h *Hub) *agentcontext.Service {
	return agentcontext.New(agentcontext.Options{
		Engine: h.conv, Auth: h.auth, Embedder: h.opts.Embedder, VectorFile: h.opts.VectorFile,
		PinConversation: h.turns.Pin,
		FindSeated:      func(name string) agentcontext.Agent { return contextAgent(h.triggers.seated(name)) },
		FindOfRunner: func(name string, runner parley.RunnerRef) agentcontext.Agent {
			return contextAgent(h.registry.BlueprintOf(runner, name))
		},
	})
}

// contextAgent returns the part of a blueprint on which contexts depend; b may be nil.
func contextAgent(b *registry.Blueprint) agentcontext.Agent {
	if b == nil {
		return agentcontext.Agent{}
	}
	return agentcontext.Agent{Set: b.Selectors, Workspaces: b.Runner.Workspaces}
}

// GetContext returns the context of an agent; see [agentcontext.Service.GetContext].
func (h *Hub) GetContext(
	ctx context.Context, p *auth.Principal, q *parley.GetContextParams,
) (*parley.GetContextResult, error) {
	return h.contexts.GetContext(ctx, p, q)
}
