package rpc

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/wire"
)

// replacedReason is why a socket ends whose executor has registered on another.
const replacedReason = "another connection has registered as this executor"

// connected gives a caller on the hub's end of the socket. It is called by the reading goroutine, and holds no lock while it calls the hub.
func (k *socket) connected(p *hub.Principal) *hub.Principal {
	if k.connection == nil {
		k.connection = k.server.hub.Connect(k.tell, k.replaced)
	}
	return p.On(k.connection)
}

// tell adds what the socket's registration brings to the out-buffer. It never waits and holds no lock of the socket's, as the hub may hold its own.
func (k *socket) tell(n parley.ExecutorNotification) {
	var frame []byte
	switch {
	case n.RequestTurn != nil:
		frame = appendNotification(nil, parley.NotifyRequestTurn, n.RequestTurn)
	case n.ClaimEnded != nil:
		frame = appendNotification(nil, parley.NotifyClaimEnded, n.ClaimEnded)
	case n.ClaimWaiting != nil:
		frame = appendNotification(nil, parley.NotifyClaimWaiting, n.ClaimWaiting)
	default:
		return
	}
	if !k.out.tell(frame) && !k.closing.Swap(true) { // better no socket than one on which something was left out: the peer comes back and registers again
		k.server.log.Warn("an executor does not read what it is told", "remote", k.remote)
		k.conn.Cut()
	}
}

// replaced ends the socket of an executor that has registered on another. The hub may hold its own locks.
func (k *socket) replaced() {
	k.out.add(appendNotification(nil, parley.NotifyClosing, parley.ClosingNotification{Reason: replacedReason}))
	k.depart(wire.CloseReplaced, replacedReason)
}
