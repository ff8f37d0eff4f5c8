package sdk

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// ForkConversation creates a conversation that starts with the events of another one. It always has
// a key, so a repeated call creates one only.
func (c *Client) ForkConversation(ctx context.Context, p *parley.ForkConversationParams) (*parley.Snapshot, error) {
	q := value(p)
	q.ClientRequestID, q.Traceparent = key(q.ClientRequestID), under(ctx, q.Traceparent)
	return call[parley.Snapshot](ctx, c, methods.ForkConversation, q, keyed)
}
