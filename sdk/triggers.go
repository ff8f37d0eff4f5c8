package sdk

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// GetContext gives what an agent is to work with, fetched now.
func (c *Client) GetContext(ctx context.Context, p *parley.GetContextParams) (*parley.GetContextResult, error) {
	return call[parley.GetContextResult](ctx, c, methods.GetContext, value(p), always)
}

// ExplainTriggers tells which agents an event has woken or would wake, and why.
func (c *Client) ExplainTriggers(ctx context.Context, p *parley.ExplainTriggersParams) (*parley.ExplainTriggersResult, error) {
	return call[parley.ExplainTriggersResult](ctx, c, methods.ExplainTriggers, value(p), always)
}
