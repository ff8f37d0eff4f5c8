package jetstream_test

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// wire forwards connections to a server, until it has to drop one direction, or to cut them.
type wire struct {
	listener  net.Listener
	target    string
	toServer  valve
	toClient  valve
	conns     sync.Map // net.Conn -> nothing
	wg        sync.WaitGroup
	unplugged atomic.Bool
}

// valve is one direction.
type valve struct {
	shut      atomic.Bool
	at        atomic.Pointer[string] // it shuts by itself, once, before what has this in it
	mu        sync.Mutex             // guards the fields below
	swallowed int
	more      chan struct{}
}

func newWire(t testing.TB, target string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, target: target}
	w.toServer.more, w.toClient.more = make(chan struct{}), make(chan struct{})
	w.wg.Go(w.accept)
	t.Cleanup(func() {
		l.Close()
		w.cut()
		w.wg.Wait()
	})
	return w
}

func (w *wire) addr() string { return w.listener.Addr().String() }

// cut ends all connections. Later ones are forwarded.
func (w *wire) cut() {
	w.conns.Range(func(c, _ any) bool {
		c.(net.Conn).Close()
		return true
	})
}

// mend passes everything on again, on new connections.
func (w *wire) mend() {
	w.toServer.shut.Store(false)
	w.toClient.shut.Store(false)
	w.unplugged.Store(false)
	w.cut()
}

// unplug cuts all connections, and refuses new ones.
func (w *wire) unplug() {
	w.unplugged.Store(true)
	w.cut()
}

func (w *wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		if w.unplugged.Load() {
			client.Close()
			continue
		}
		server, err := net.Dial("tcp", w.target)
		if err != nil {
			client.Close()
			continue
		}
		w.conns.Store(client, nil)
		w.conns.Store(server, nil)
		w.wg.Go(func() { w.pass(server, client, &w.toServer) })
		w.wg.Go(func() { w.pass(client, server, &w.toClient) })
	}
}

func (w *wire) pass(to, from net.Conn, v *valve) {
	defer to.Close()
	defer from.Close()
	defer w.conns.Delete(from)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if at := v.at.Load(); at != nil && bytes.Contains(buf[:n], []byte(*at)) && v.at.CompareAndSwap(at, nil) {
			v.shut.Store(true)
		}
		if v.shut.Load() {
			v.swallow(n)
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (v *valve) swallow(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.swallowed += n
	close(v.more)
	v.more = make(chan struct{})
}

// await waits until so many bytes were swallowed.
func (v *valve) await(t testing.TB, bytes int) {
	t.Helper()
	for {
		v.mu.Lock()
		n, more := v.swallowed, v.more
		v.mu.Unlock()
		if n >= bytes {
			return
		}
		select {
		case <-more:
		case <-t.Context().Done():
			t.Fatalf("%d bytes were swallowed, expected %d", n, bytes)
		}
	}
}
