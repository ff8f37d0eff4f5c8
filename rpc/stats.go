package rpc

import (
	"context"

	"github.com/parleyhub/parley"
)

// stats answers with what the hub knows of itself and what its doors have counted.
func stats(ctx context.Context, c *call) {
	q, err := paramsOf[parley.StatsParams](c)
	if err != nil {
		c.refuse(err)
		return
	}
	n, err := c.server.hub.Stats(ctx, c.principal, q)
	if err != nil {
		c.fail(err)
		return
	}
	c.server.complete(&n)
	c.succeed(func(b []byte) ([]byte, error) { return appendJSON(b, n) })
}

// complete adds to what the hub has counted what only its doors know.
func (s *Server) complete(n *parley.Stats) {
	for reason, count := range s.counters.refusals {
		if v := count.Load(); v > 0 {
			n.Refusals[reason] = v
		}
	}
	n.LoginsRefused, n.ConnectionsRefused, n.Streams = s.counters.logins.Load(), s.counters.conns.Load(), s.counters.streams.Load()
	n.Received, n.Sent = s.counters.received.counted(), s.counters.sent.counted()
	s.mu.Lock()
	defer s.mu.Unlock()
	n.Sockets, n.Requests = int64(len(s.sockets)), int64(len(s.posts))
	for k := range s.sockets {
		if k.principal.Load() == nil {
			n.PendingSockets++
		}
	}
}
