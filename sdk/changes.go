package sdk

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// WatchConversations returns the conversations that changed after a cursor. With TimeoutMs it waits
// for a change.
func (c *Client) WatchConversations(
	ctx context.Context,
	p *parley.WatchConversationsParams,
) (*parley.WatchConversationsResult, error) {
	q := value(p)
	if q.TimeoutMs <= 0 {
		return call[parley.WatchConversationsResult](ctx, c, methods.WatchConversations, q, always)
	}
	var r *parley.WatchConversationsResult
	err := c.wait(q.TimeoutMs, func(ms int64) (_ bool, err error) {
		q.TimeoutMs = ms
		r, err = callVia[parley.WatchConversationsResult](ctx, c, c.enterWait, methods.WatchConversations, q, always)
		if err == nil {
			q.Cursor = r.Cursor
		}
		return err == nil && r.TimedOut, err
	})
	return r, err
}
