package rpc

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

func startSession(c *call) reader[parley.StartSessionParams, parley.Session] {
	return func(ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.StartSessionParams, g gate) (encoder, error) {
		s, err := h.StartSession(ctx, p, q)
		if err != nil {
			return nil, err
		}
		c.wrote(s)
		return withRoom(ctx, h, p, s, g)
	}
}

func getSession(ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.GetSessionParams, g gate) (encoder, error) {
	s, err := h.GetSession(ctx, p, q)
	if err != nil {
		return nil, err
	}
	return withRoom(ctx, h, p, s, g)
}

func stopSession(ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.StopSessionParams, _ gate) (encoder, error) {
	s, err := h.StopSession(ctx, p, q)
	return asSession(s), err
}

// withRoom answers with a session. Its result may be large: while there is no room for the answer, it stays in the log and is not held in memory. Who may not
// read is told what its own call has brought, and may not ask for it again.
func withRoom(ctx context.Context, h *hub.Hub, p *hub.Principal, s *parley.Session, g gate) (encoder, error) {
	switch {
	case s.Result == nil:
		return asSession(s), nil
	case p.Has(parley.ScopeRead):
		return again(ctx, h, p, s.SessionID, s.Duplicate, s.TimedOut, g)
	}
	return asSession(s), g(ctx)
}

// again reads a session when there is room for it, and says of it what was said before.
func again(ctx context.Context, h *hub.Hub, p *hub.Principal, id string, duplicate, timedOut bool, g gate) (encoder, error) {
	if err := g(ctx); err != nil {
		return nil, err
	}
	s, err := h.GetSession(ctx, p, &parley.GetSessionParams{SessionID: id})
	if err != nil {
		return nil, err
	}
	s.Duplicate, s.TimedOut = duplicate, timedOut
	return asSession(s), nil
}

func asSession(s *parley.Session) encoder {
	return func(b []byte) ([]byte, error) { return appendJSON(b, s) }
}
