package admission

import (
	"container/list"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
)

// Sockets counts the WebSockets that have not shown a token. It bounds clients behind a trusted
// proxy, of which the Listener sees the proxy only.
type Sockets struct {
	proxies     proxies
	most, ofOne int

	mu  sync.Mutex // guards the fields below
	of  map[netip.Prefix]int
	all int
}

func newSockets(p proxies, most, ofOne int) *Sockets {
	return &Sockets{proxies: p, most: most, ofOne: ofOne, of: map[netip.Prefix]int{}}
}

// Add counts a socket of an address, or refuses it. Loopback addresses and trusted proxies have no
// limit for one address.
func (s *Sockets) Add(from netip.Addr) error {
	network := networkOf(from)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch bounded := !from.IsLoopback() && !s.proxies.trust(from); {
	case s.all >= s.most:
		return TooMany("sockets that have not shown a token")
	case bounded && s.of[network] >= s.ofOne:
		return TooMany("sockets from this address that have not shown a token")
	}
	s.all++
	s.of[network]++
	return nil
}

// Remove ends the count of a socket.
func (s *Sockets) Remove(from netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	decrement(s.of, networkOf(from))
}

// connections counts the connections that have not shown a good token.
type connections struct {
	most, ofOne int
	refused     atomic.Int64

	mu  sync.Mutex                  // guards the fields below
	of  map[netip.Prefix]*list.List // of *pendingConn, the oldest in front
	all int
}

func newConnections(most, ofOne int) *connections {
	return &connections{most: most, ofOne: ofOne, of: map[netip.Prefix]*list.List{}}
}

// Listen returns a listener that bounds the connections of l without a good token. One more is closed
// when it is accepted, or replaces one of an address that has more of them. Loopback addresses and
// trusted proxies have no limit. It belongs below TLS, and needs WithConnection.
func (c *Controller) Listen(l net.Listener) net.Listener {
	return &limitedListener{l, c.conns, c.proxies, c.log}
}

// WithConnection adds the connection of a request to its context, so that a good token ends its count.
func (c *Controller) WithConnection(ctx context.Context, conn net.Conn) context.Context {
	for conn != nil {
		if p, ok := conn.(*pendingConn); ok {
			return context.WithValue(ctx, pendingKey{}, p)
		}
		over, ok := conn.(interface{ NetConn() net.Conn }) // such as *tls.Conn
		if !ok {
			return ctx
		}
		conn = over.NetConn()
	}
	return ctx
}

type pendingKey struct{}

func pendingOf(ctx context.Context) *pendingConn {
	c, _ := ctx.Value(pendingKey{}).(*pendingConn)
	return c
}

type limitedListener struct {
	net.Listener
	conns   *connections
	proxies proxies
	log     *slog.Logger
}

// Accept waits for a connection that the limits allow.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := parseAddress(conn.RemoteAddr().String())
		if from.IsLoopback() || l.proxies.trust(from) {
			return conn, nil
		}
		c, refused := l.conns.add(conn, networkOf(from))
		if refused == nil {
			return c, nil
		}
		l.log.Debug("too many connections without a token", "remote", from)
		l.conns.refused.Add(1)
		_ = refused.Close() // the peer gets no answer
		if c != nil {
			return c, nil
		}
	}
}

// add counts a connection. Above a limit it also returns the one to close. That is conn itself, and c
// is nil; or the oldest one of the address with the most connections, if the limit for all is
// exceeded and that address has more than this one. So a few addresses cannot keep others out.
func (p *connections) add(conn net.Conn, from netip.Prefix) (c *pendingConn, refused net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.of[from]
	if own == nil {
		own = list.New()
	}
	if own.Len() >= p.ofOne {
		return nil, conn
	}
	if p.all >= p.most {
		if refused = p.findOldestLocked(own.Len() + 1); refused == nil {
			return nil, conn
		}
	}
	c = &pendingConn{Conn: conn}
	elem := own.PushBack(c)
	p.of[from] = own
	p.all++
	c.uncount = sync.OnceFunc(func() { p.remove(from, elem) })
	return c, refused
}

// findOldestLocked returns the oldest connection of the address with the most connections, if it has
// more than a number of them.
func (p *connections) findOldestLocked(than int) net.Conn {
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

func (p *connections) remove(from netip.Prefix, elem *list.Element) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	conns := p.of[from]
	conns.Remove(elem)
	if conns.Len() == 0 {
		delete(p.of, from)
	}
}

// pendingConn is counted until it shows a good token or is closed.
type pendingConn struct {
	net.Conn
	uncount func()
}

// markAuthenticated ends the count. It may be called again, and on nil.
func (c *pendingConn) markAuthenticated() {
	if c != nil {
		c.uncount()
	}
}

// Close closes the connection.
func (c *pendingConn) Close() error {
	c.uncount()
	return c.Conn.Close()
}

// SyscallConn lets sockets read and write directly.
func (c *pendingConn) SyscallConn() (syscall.RawConn, error) {
	below, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return below.SyscallConn()
}

// NetConn returns the connection below.
func (c *pendingConn) NetConn() net.Conn { return c.Conn }
