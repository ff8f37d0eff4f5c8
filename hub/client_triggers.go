package hub

import (
	"context"

	"github.com/parleyhub/parley"
)

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
