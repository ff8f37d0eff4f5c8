// Package memnet is a network in memory: a listener whose connections are buffered pipes.
// testing/synctest sees each of its waits, so a server and its clients can run inside a bubble.
//
// A connection buffers at most [Buffer] bytes in each direction. A writer waits for its reader
// beyond that, as on TCP. Deadlines work. Concurrent writes of one end do not interleave.
package memnet

import (
	"context"
	"net"
	"sync"
)

// Buffer is the size of the buffer of a connection in each direction.
const Buffer = 64 << 10

// Addr is the address of every listener and connection.
type Addr struct{}

// Network is "mem".
func (Addr) Network() string { return "mem" }

func (Addr) String() string { return "127.0.0.1:0" }

// Listener is a net.Listener in memory.
type Listener struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

var _ net.Listener = (*Listener)(nil)

// Listen returns a listener.
func Listen() *Listener {
	return &Listener{accept: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept waits for a Dial.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and Dial. Established connections stay open.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr is Addr{}.
func (l *Listener) Addr() net.Addr { return Addr{} }

// Dial connects. It waits for an Accept.
func (l *Listener) Dial(ctx context.Context) (net.Conn, error) {
	client, server := Pipe()
	select {
	case l.accept <- server:
		return client, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "mem", Addr: Addr{}, Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// DialContext is Dial with the signature of http.Transport. It ignores the network and the address.
func (l *Listener) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return l.Dial(ctx)
}

// Pipe returns two connected ends.
func Pipe() (a, b net.Conn) {
	ab, ba := newHalf(), newHalf()
	return newConn(ba, ab), newConn(ab, ba)
}
