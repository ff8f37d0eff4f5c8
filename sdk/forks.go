package sdk

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// ForkConversation makes a conversation that begins as another. Without a ClientRequestID one is made, so that it can be repeated.
func (c *Client) ForkConversation(ctx context.Context, p *parley.ForkConversationParams) (*parley.Snapshot, error) {
	q := value(p)
	q.ClientRequestID, q.Traceparent = key(q.ClientRequestID), under(ctx, q.Traceparent)
	return call[parley.Snapshot](ctx, c, methods.ForkConversation, q, keyed)
}
