package hub

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/auth"
)

// StartSession starts a session; see [sessions.Service.Start].
func (h *Hub) StartSession(ctx context.Context, p *Principal, q *parley.StartSessionParams) (*parley.Session, error) {
	return auth.CallFresh(ctx, h.auth, func() (*parley.Session, error) { return h.sessions.Start(ctx, p, q) })
}

// GetSession returns a session; see [sessions.Service.Get].
func (h *Hub) GetSession(ctx context.Context, p *Principal, q *parley.GetSessionParams) (*parley.Session, error) {
	return auth.CallFresh(ctx, h.auth, func() (*parley.Session, error) { return h.sessions.Get(ctx, p, q) })
}

// StopSession ends a session; see [sessions.Service.Stop].
func (h *Hub) StopSession(ctx context.Context, p *Principal, q *parley.StopSessionParams) (*parley.Session, error) {
	return auth.CallFresh(ctx, h.auth, func() (*parley.Session, error) { return h.sessions.Stop(ctx, p, q) })
}

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
