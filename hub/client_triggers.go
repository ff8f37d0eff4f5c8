package hub

import (
	"context"
	"errors"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
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
	seesAll := !slices.ContainsFunc(q.Agent.Workspaces, func(w string) bool { return !q.By.Grants(w) })
	f := &feeding{
		hub: h, reaches: q.By.Reaches, at: q.ConversationID, asked: q.ConversationID,
		viewer: fold.Viewer{ID: q.AgentID}, given: []parley.SessionTrigger{q.Trigger},
		may: func(s *parley.Selector) bool { return !s.Trigger() && (!s.Workspace() || seesAll) },
	}
	f.setAgent(q.Agent)
	fetching, cancel := context.WithDeadline(ctx, q.Deadline)
	defer cancel()
	out, err := f.build(fetching)
	switch {
	case err == nil:
		return out.Sources, nil
	case errors.Is(err, parley.ErrConversationClosed):
		return nil, nil
	case fetching.Err() == nil || ctx.Err() != nil:
		return nil, err
	}
	sources := []parley.ContextSource{}
	for i := range f.set.Subscriptions.Selectors {
		if f.fetches(i) {
			sources = append(sources, f.portion(i, &want{index: i, err: errFetchTime}, nil).source)
		}
	}
	return sources, nil
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
