package rpc

import (
	"container/list"
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
)

// pending counts connections that have not shown a good token.
type pending struct {
	server *Server

	mu  sync.Mutex                  // guards the fields below
	of  map[netip.Prefix]*list.List // of *pendingConn, the oldest in front
	all int
}

func newPending(s *Server) *pending {
	return &pending{server: s, of: map[netip.Prefix]*list.List{}}
}

// Listener bounds the connections of l that have not shown a good token, by Options.MaxPendingOfOne and MaxPending: one more is closed as soon as
// it was accepted, or takes the place of one of an address that has more. Loopback addresses and trusted proxies are not bounded. It goes below TLS, and needs ConnContext.
func (s *Server) Listener(l net.Listener) net.Listener { return &pendingListener{l, s.unknown} }

// ConnContext is for http.Server: it lets requests tell the Listener that their connection has shown a good token.
func (s *Server) ConnContext(ctx context.Context, c net.Conn) context.Context {
	for c != nil {
		if p, ok := c.(*pendingConn); ok {
			return context.WithValue(ctx, pendingKey{}, p)
		}
		over, ok := c.(interface{ NetConn() net.Conn }) // as *tls.Conn
		if !ok {
			return ctx
		}
		c = over.NetConn()
	}
	return ctx
}

type pendingKey struct{}

// pendingOf gives the connection of a request; nil where they are not counted.
func pendingOf(ctx context.Context) *pendingConn {
	c, _ := ctx.Value(pendingKey{}).(*pendingConn)
	return c
}

type pendingListener struct {
	net.Listener
	pending *pending
}

// Accept waits for a connection that there is room for.
func (l *pendingListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := parseAddress(conn.RemoteAddr().String())
		if from.IsLoopback() || l.pending.server.trusts(from) {
			return conn, nil
		}
		c, out := l.pending.add(conn, neighbourhood(from))
		if out == nil {
			return c, nil
		}
		l.pending.server.log.Debug("too many connections without a token", "remote", from)
		l.pending.server.counters.conns.Add(1)
		_ = out.Close() // there is nobody to tell
		if c != nil {
			return c, nil
		}
	}
}

// add counts a connection. Where there are too many it also gives the one to be closed: conn itself, and then c is nil, or, if all are too many
// and another address has more of them than this would have, the oldest of that: so a few addresses keep nobody out.
func (p *pending) add(conn net.Conn, from netip.Prefix) (c *pendingConn, out net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	mine := p.of[from]
	if mine == nil {
		mine = list.New()
	}
	if mine.Len() >= p.server.opts.MaxPendingOfOne {
		return nil, conn
	}
	if p.all >= p.server.opts.MaxPending {
		if out = p.oldestLocked(mine.Len() + 1); out == nil {
			return nil, conn
		}
	}
	c = &pendingConn{Conn: conn}
	elem := mine.PushBack(c)
	p.of[from] = mine
	p.all++
	c.shown = sync.OnceFunc(func() { p.remove(from, elem) })
	return c, out
}

// oldestLocked gives the oldest connection of the address that has the most, if that is more than so many.
func (p *pending) oldestLocked(than int) net.Conn {
	var most *list.List
	for _, conns := range p.of {
		if conns.Len() > than {
			most, than = conns, conns.Len()
		}
	}
	if most == nil {
		return nil
	}
	return most.Front().Value.(*pendingConn)
}

func (p *pending) remove(from netip.Prefix, elem *list.Element) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	conns := p.of[from]
	conns.Remove(elem)
	if conns.Len() == 0 {
		delete(p.of, from)
	}
}

// pendingConn is counted until it has shown a good token or is closed.
type pendingConn struct {
	net.Conn
	shown func()
}

// show says that the connection has shown a good token. It may be called again, and on nil.
func (c *pendingConn) show() {
	if c != nil {
		c.shown()
	}
}

// Close closes the connection.
func (c *pendingConn) Close() error {
	c.shown()
	return c.Conn.Close()
}

// SyscallConn lets sockets read and write without a detour.
func (c *pendingConn) SyscallConn() (syscall.RawConn, error) {
	below, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return below.SyscallConn()
}

// NetConn gives the connection below.
func (c *pendingConn) NetConn() net.Conn { return c.Conn }
