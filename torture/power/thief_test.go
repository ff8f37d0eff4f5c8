package power

import (
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// thief is a proxy in front of a hub. On request it drops the next answer of a connection and
// closes the connection. The hub has then executed the call, and the caller does not know it.
type thief struct {
	listener net.Listener
	hub      atomic.Pointer[string] // HOST:PORT
	count    atomic.Int64           // of connections so far
	victim   atomic.Int64           // which of them is robbed
	stolen   atomic.Int64
	conns    sync.WaitGroup
}

// newThief listens until the end of the test.
func newThief(t *testing.T) *thief {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &thief{listener: l}
	f.conns.Go(f.accept)
	t.Cleanup(func() { // the hub was killed, and its callers have hung up: so each connection ended
		l.Close()
		f.conns.Wait()
	})
	return f
}

// before puts the thief in front of a hub at a URL, and returns its own.
func (f *thief) before(url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	host, path, _ := strings.Cut(rest, "/")
	f.hub.Store(&host)
	return scheme + "://" + f.listener.Addr().String() + "/" + path
}

func (f *thief) accept() {
	for {
		c, err := f.listener.Accept()
		if err != nil {
			return
		}
		n := f.count.Add(1)
		f.conns.Go(func() { f.carry(n, c) })
	}
}

// rob makes the thief keep the next answer of the last connection, or, of those to come, of the
// first.
func (f *thief) rob(toCome bool) {
	n := f.count.Load()
	if toCome {
		n++
	}
	f.victim.Store(n)
}

// carry carries connection n, both ways.
func (f *thief) carry(n int64, c net.Conn) {
	defer c.Close()
	h, err := net.Dial("tcp", *f.hub.Load())
	if err != nil {
		return
	}
	defer h.Close()
	f.conns.Go(func() {
		defer h.Close()
		_, _ = io.Copy(h, c) // until either ends
	})
	buf := make([]byte, 64<<10)
	for {
		size, err := h.Read(buf)
		if size > 0 && f.victim.Load() == n {
			f.stolen.Add(1)
			return
		}
		if _, e := c.Write(buf[:size]); e != nil || err != nil {
			return
		}
	}
}
