package serve

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/parleyhub/parley/internal/memnet"
)

// memoryListener is a listener in memory whose connections have the address of the peer that they
// are made for. Only this process can connect.
type memoryListener struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once

	mu      sync.Mutex // guards the fields below
	settled bool       // no connection is made any more
	conns   sync.WaitGroup
}

func newMemoryListener() *memoryListener {
	return &memoryListener{accept: make(chan net.Conn), closed: make(chan struct{})}
}

var _ net.Listener = (*memoryListener)(nil)

// Accept waits for a dial.
func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and dial; connections stay.
func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr is that of every listener in memory.
func (l *memoryListener) Addr() net.Addr { return memnet.Addr{} }

// dial connects on behalf of a peer; the zero address is this process itself.
func (l *memoryListener) dial(ctx context.Context, from netip.Addr) (net.Conn, error) {
	if !l.enter() {
		return nil, net.ErrClosed
	}
	near, far := memnet.Pipe()
	select {
	case l.accept <- memoryConn{far, from}:
		return &countedConn{Conn: near, left: sync.OnceFunc(l.conns.Done)}, nil
	case <-l.closed:
		l.conns.Done()
		return nil, net.ErrClosed
	case <-ctx.Done():
		l.conns.Done()
		return nil, ctx.Err()
	}
}

// enter counts a connection, unless none is made any more.
func (l *memoryListener) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.settled {
		l.conns.Add(1)
	}
	return !l.settled
}

// settleTimeout bounds settle, and so is longer than a hub drains.
const settleTimeout = DrainTimeout + time.Second

// settle refuses new connections, and returns once the existing ones are closed, so that all their
// data was read.
func (l *memoryListener) settle() {
	l.mu.Lock()
	l.settled = true
	l.mu.Unlock()
	ended := make(chan struct{})
	go func() { // it ends at the latest with the clients
		l.conns.Wait()
		close(ended)
	}()
	timer := time.NewTimer(settleTimeout)
	defer timer.Stop()
	select {
	case <-ended:
	case <-l.closed:
	case <-timer.C:
	}
}

// memoryConn is the hub's end of a connection in memory.
type memoryConn struct {
	net.Conn
	from netip.Addr
}

// RemoteAddr is the address of the peer on whose behalf the connection is made.
func (c memoryConn) RemoteAddr() net.Addr {
	if !c.from.IsValid() {
		return c.Conn.RemoteAddr()
	}
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(c.from, 0))
}

// countedConn is the client's end. It is closed once all received data was read.
type countedConn struct {
	net.Conn
	left func()
}

// Close closes the connection.
func (c *countedConn) Close() error {
	err := c.Conn.Close()
	c.left()
	return err
}
