package listen

import (
	"net"
	"net/http"
	"sync"
)

// unusedConns are the connections of an HTTP server without any request. The transport of a client
// opens some that it then does not need, and http.Server waits five seconds for each at shutdown. A
// draining hub accepts no call over them, so they are closed.
type unusedConns struct {
	mu    sync.Mutex // guards the fields below
	conns map[net.Conn]struct{}
	ended bool
}

// closeUnused has a server close unused connections when it shuts down. It must come before the
// server serves.
func closeUnused(h *http.Server) {
	u := &unusedConns{conns: map[net.Conn]struct{}{}}
	h.ConnState = u.changed
	h.RegisterOnShutdown(u.close)
}

func (u *unusedConns) changed(c net.Conn, to http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case to != http.StateNew:
		delete(u.conns, c)
	case u.ended:
		_ = c.Close() // nothing was lost
	default:
		u.conns[c] = struct{}{}
	}
}

func (u *unusedConns) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ended = true
	for c := range u.conns {
		_ = c.Close() // nothing was lost
	}
}
