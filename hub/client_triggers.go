package hub

import (
	"context"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/agentcontext"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/triggers"
)

// ExplainTriggers returns which agents an event triggers; see [triggers.Service.Explain].
func (h *Hub) ExplainTriggers(
	ctx context.Context, p *Principal, q *parley.ExplainTriggersParams,
) (*parley.ExplainTriggersResult, error) {
	return auth.CallFresh(ctx, h.auth, func() (*parley.ExplainTriggersResult, error) {
		return h.triggers.Explain(ctx, p, q)
	})
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

func (c *client) GetContext(ctx context.Context, q *parley.GetContextParams) (*parley.GetContextResult, error) {
	q = orZero(q)
	return read(c, ctx, func(ctx context.Context) (*parley.GetContextResult, error) {
		return c.hub.GetContext(ctx, c.caller(), q)
	})
}

func (c *client) ExplainTriggers(ctx context.Context, q *parley.ExplainTriggersParams) (*parley.ExplainTriggersResult, error) {
	q = orZero(q)
	return read(c, ctx, func(ctx context.Context) (*parley.ExplainTriggersResult, error) {
		return c.hub.ExplainTriggers(ctx, c.caller(), q)
	})
}
