package sdk_test

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// lateWire passes connections on to a hub. What the first one sends can be held back, and come to
// the hub when its client has long given it up: as over a network that was cut for a while.
type lateWire struct {
	t      *testing.T
	l      net.Listener
	target string
	wg     sync.WaitGroup
	held   chan []byte // what the first connection has sent since hold

	mu      sync.Mutex // guards the fields below
	first   [2]net.Conn
	holding bool
	all     []net.Conn
}

func newLateWire(t *testing.T, hubURL string) *lateWire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &lateWire{
		t:      t,
		l:      l,
		target: strings.TrimSuffix(strings.TrimPrefix(hubURL, "ws://"), "/rpc"),
		held:   make(chan []byte, 16),
	}
	w.wg.Go(w.serve)
	t.Cleanup(func() {
		l.Close()
		w.mu.Lock()
		for _, c := range w.all {
			c.Close()
		}
		w.mu.Unlock()
		w.wg.Wait()
	})
	return w
}

func (w *lateWire) url() string { return "ws://" + w.l.Addr().String() + "/rpc" }

func (w *lateWire) serve() {
	for {
		in, err := w.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", w.target)
		if err != nil {
			in.Close()
			continue
		}
		w.mu.Lock()
		isFirst := w.first[0] == nil
		if isFirst {
			w.first = [2]net.Conn{in, out}
		}
		w.all = append(w.all, in, out)
		w.mu.Unlock()
		w.wg.Go(func() { w.toHub(out, in, isFirst) })
		w.wg.Go(func() {
			io.Copy(in, out)
			in.Close()
		})
	}
}

func (w *lateWire) toHub(out, in net.Conn, isFirst bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := in.Read(buf)
		w.mu.Lock()
		hold := isFirst && w.holding
		w.mu.Unlock()
		switch {
		case err != nil && hold:
			return // the hub does not hear of the end
		case err != nil:
			out.Close()
			return
		case hold:
			w.held <- append([]byte(nil), buf[:n]...)
		default:
			out.Write(buf[:n])
		}
	}
}

// hold holds back what the first connection sends from now on.
func (w *lateWire) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holding = true
}

// TestReplacedByItsOwn: a registration reaches the hub after its client gave up the connection and
// registered on another one. The client was replaced by itself, so it registers again.
func TestReplacedByItsOwn(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	w := newLateWire(t, h.URL)
	o := eager(h.NewToken(t, "a"))
	c, err := sdk.Dial(t.Context(), w.url(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w.hold()
	told := make(chan parley.ExecutorNotification, 16)
	failed := make(chan error, 1)
	go func() {
		for n, err := range c.RegisterExecutor(t.Context(), &parley.RegisterExecutorParams{ExecutorID: "one", Agents: []string{"a"}, Mode: parley.ModePush}, nil) {
			if err != nil {
				failed <- err
				return
			}
			told <- n
		}
	}()
	late := <-w.held
	w.first[0].Close() // the client's end
	registered := func(when string) {
		t.Helper()
		select {
		case n := <-told:
			if n.Registered == nil {
				t.Fatalf("%s: %+v", when, n)
			}
		case err := <-failed:
			t.Fatalf("%s: %v", when, err)
		case <-time.After(patience):
			t.Fatalf("%s: nothing is told", when)
		}
	}
	registered("on another connection")
	w.first[1].Write(late)
	registered("after its own has come late")
}
