package sdk

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// GetContext returns the current agent context of a seat.
func (c *Client) GetContext(ctx context.Context, p *parley.GetContextParams) (*parley.GetContextResult, error) {
	return call[parley.GetContextResult](ctx, c, methods.GetContext, value(p), always)
}

// ExplainTriggers explains which agents an event triggered or would trigger.
func (c *Client) ExplainTriggers(
	ctx context.Context,
	p *parley.ExplainTriggersParams,
) (*parley.ExplainTriggersResult, error) {
	return call[parley.ExplainTriggersResult](ctx, c, methods.ExplainTriggers, value(p), always)
}
