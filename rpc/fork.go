package rpc

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// forkConversation counts what the fork copies against the bytes that its caller may write: those of the call itself are few.
func forkConversation(ctx context.Context, c *call) {
	fork := func(h *hub.Hub, p *hub.Principal, q *parley.ForkConversationParams, done func(*parley.Snapshot, error)) {
		h.ForkConversationPaid(p, q, func(bytes int) error { return c.server.rates.copied(p, bytes) }, done)
	}
	write(fork, asJSON[*parley.Snapshot]).serve(ctx, c)
}
