package hub

import (
	"context"

	"github.com/parleyhub/parley"
)

func (c *client) StartSession(ctx context.Context, q *parley.StartSessionParams) (*parley.Session, error) {
	q = orZero(q)
	for _, raw := range [][]byte{q.Parameters, q.Metadata} {
		if err := checkJSON(raw, 2); err != nil {
			return nil, err
		}
	}
	traced := *q
	traced.Traceparent = under(ctx, q.Traceparent)
	return read(c, ctx, func(ctx context.Context) (*parley.Session, error) {
		return c.hub.StartSession(ctx, c.caller(), &traced)
	})
}

func (c *client) GetSession(ctx context.Context, q *parley.GetSessionParams) (*parley.Session, error) {
	q = orZero(q)
	return read(c, ctx, func(ctx context.Context) (*parley.Session, error) { return c.hub.GetSession(ctx, c.caller(), q) })
}

func (c *client) StopSession(ctx context.Context, q *parley.StopSessionParams) (*parley.Session, error) {
	q = orZero(q)
	return read(c, ctx, func(ctx context.Context) (*parley.Session, error) { return c.hub.StopSession(ctx, c.caller(), q) })
}
