package rpc

import (
	"net/netip"
	"sync"
)

// silent counts sockets that have not shown a token. Who comes through a trusted proxy is bounded here, since the Listener sees the proxy.
type silent struct {
	server *Server

	mu  sync.Mutex // guards the fields below
	of  map[netip.Prefix]int
	all int
}

func newSilent(s *Server) *silent {
	return &silent{server: s, of: map[netip.Prefix]int{}}
}

// enter counts a socket from an address, or refuses it where there are too many. Loopback addresses and trusted proxies have no bound of
// their own.
func (q *silent) enter(from netip.Addr) error {
	alone := neighbourhood(from)
	q.mu.Lock()
	defer q.mu.Unlock()
	o := &q.server.opts
	switch bounded := !from.IsLoopback() && !q.server.trusts(from); {
	case q.all >= o.MaxPending:
		return tooMany("sockets that have not shown a token")
	case bounded && q.of[alone] >= o.MaxPendingOfOne:
		return tooMany("sockets from this address that have not shown a token")
	}
	q.all++
	q.of[alone]++
	return nil
}

// leave takes a socket back.
func (q *silent) leave(from netip.Addr) {
	alone := neighbourhood(from)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all--
	if q.of[alone]--; q.of[alone] == 0 {
		delete(q.of, alone)
	}
}
