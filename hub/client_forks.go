package hub

import (
	"context"

	"github.com/parleyhub/parley"
)

func (c *client) ForkConversation(ctx context.Context, q *parley.ForkConversationParams) (*parley.Snapshot, error) {
	q = orZero(q)
	traced := *q
	traced.Traceparent = under(ctx, q.Traceparent)
	return write(c, ctx, func(done func(*parley.Snapshot, error)) { c.hub.ForkConversation(c.caller(), &traced, done) })
}

func (c *client) WatchConversations(ctx context.Context, q *parley.WatchConversationsParams) (*parley.WatchConversationsResult, error) {
	q = orZero(q)
	return read(c, ctx, func(ctx context.Context) (*parley.WatchConversationsResult, error) {
		return c.hub.WatchConversations(ctx, c.caller(), q)
	})
}
