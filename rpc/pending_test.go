package rpc_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/rpc"
)

// crowd is a server whose peers come from wherever the test says.
type crowd struct {
	t      *testing.T
	server *rpc.Server
	http   *http.Server
	conns  chan net.Conn
	gone   chan struct{}
}

// placed is a connection from an address.
type placed struct {
	net.Conn
	from net.Addr
}

func (p placed) RemoteAddr() net.Addr { return p.from }

func (c *crowd) Accept() (net.Conn, error) {
	select {
	case conn := <-c.conns:
		return conn, nil
	case <-c.gone:
		return nil, errors.New("closed")
	}
}

func (c *crowd) Close() error {
	close(c.gone)
	return nil
}

func (c *crowd) Addr() net.Addr { return &net.TCPAddr{} }

func newCrowd(t *testing.T, o *rpc.Options, over func(net.Listener) net.Listener) *crowd {
	t.Helper()
	j := memory.New()
	h, err := hub.Open(j, &hub.Options{RootToken: devToken})
	if err != nil {
		t.Fatal(err)
	}
	c := &crowd{t: t, server: rpc.NewServer(h, o), conns: make(chan net.Conn), gone: make(chan struct{})}
	c.http = &http.Server{Handler: c.server, ConnContext: c.server.ConnContext, ReadHeaderTimeout: 5 * time.Second,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	l := c.server.Listener(c)
	if over != nil {
		l = over(l)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = c.http.Serve(l) // http.ErrServerClosed
	}()
	t.Cleanup(func() {
		if err := c.server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		c.http.Close()
		<-served
		if err := errors.Join(h.Close(), j.Close()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// connect comes from an address; open is false when the server has closed the connection at once.
func (c *crowd) connect(address string) (conn net.Conn, open bool) {
	c.t.Helper()
	mine, theirs := net.Pipe()
	c.conns <- placed{theirs, net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(address), 1))}
	synctest.Wait()
	_ = mine.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := mine.Read(make([]byte, 1))
	_ = mine.SetReadDeadline(time.Time{})
	c.t.Cleanup(func() { mine.Close() })
	return mine, !errors.Is(err, io.EOF)
}

// ping makes a call on a connection and returns the status.
func ping(t *testing.T, conn net.Conn, token string) int {
	t.Helper()
	go io.WriteString(conn, "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Authorization: Bearer "+token+
		"\r\nContent-Length: 40\r\n\r\n"+`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// TestSilentConnections: 2,000 silent connections of one client keep no other client out.
func TestSilentConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, nil, nil)
		open := 0
		for range 2000 {
			if _, ok := c.connect("192.0.2.1"); ok {
				open++
			}
		}
		if open != 256 {
			t.Errorf("%d are open", open)
		}
		good, ok := c.connect("192.0.2.2")
		if !ok || ping(t, good, devToken) != 200 {
			t.Error("another address is kept out")
		}
		time.Sleep(6 * time.Second) // the server waits no longer for their headers
		synctest.Wait()
		if _, ok := c.connect("192.0.2.1"); !ok {
			t.Error("the address is kept out for ever")
		}
	})
}

// TestGoodTokensMakeRoom: a connection counts until it shows a good token, in a header or on its
// socket. A bad token does not help.
func TestGoodTokensMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, &rpc.Options{MaxPendingOfOne: 3}, nil)
		var conns []net.Conn
		for range 3 {
			conn, ok := c.connect("2001:db8::1")
			if !ok {
				t.Fatal("it is closed")
			}
			conns = append(conns, conn)
		}
		full := func(want bool) {
			t.Helper()
			conn, open := c.connect("2001:db8::2") // of the same /64
			if open == want {
				t.Errorf("open: %v", open)
			}
			conn.Close()
			synctest.Wait()
		}
		full(true)
		if got := ping(t, conns[0], "nonsense"); got != 401 {
			t.Fatal(got)
		}
		full(true)
		if got := ping(t, conns[0], devToken); got != 200 {
			t.Fatal(got)
		}
		full(false)
		if got := ping(t, conns[0], devToken); got != 200 { // counts once only
			t.Fatal(got)
		}
		c.connect("2001:db8::3")
		full(true)
		socket := c.socket(conns[1])
		full(true)
		socket(`{"jsonrpc":"2.0","id":1,"method":"authenticate","params":{"token":"dev"}}`)
		full(false)
		conns[2].Close()
		synctest.Wait()
		full(false)
	})
}

// socket makes a WebSocket of a connection; say sends a frame and waits for one.
func (c *crowd) socket(conn net.Conn) (say func(frame string)) {
	c.t.Helper()
	go io.WriteString(conn, "GET /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		c.t.Fatalf("%v, %v", resp, err)
	}
	return func(frame string) {
		head := append([]byte{0x81, 0x80 | byte(len(frame))}, 0, 0, 0, 0) // masked with zeros
		go conn.Write(append(head, frame...))
		if reply, err := r.ReadString('}'); err != nil || !strings.Contains(reply, `"result"`) {
			c.t.Fatalf("%q, %v", reply, err)
		}
	}
}

// TestPendingBounds: all connections together are bounded, except those of loopback and trusted
// proxies.
func TestPendingBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, &rpc.Options{MaxPending: 10, MaxPendingOfOne: 4,
			TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, nil)
		open := func(address string) bool {
			_, ok := c.connect(address)
			return ok
		}
		for _, address := range []string{"127.0.0.1", "::1", "10.1.2.3"} {
			for range 20 {
				if !open(address) {
					t.Fatalf("%s is bounded", address)
				}
			}
		}
		n := 0
		for i := range 20 {
			if open(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}).String()) {
				n++
			}
		}
		if n != 10 {
			t.Errorf("%d addresses have a connection, want 10", n)
		}
	})
}

// TestPendingBelowTLS: a good token above TLS ends the count of its connection.
func TestPendingBelowTLS(t *testing.T) {
	certificate := httptest.NewTLSServer(nil)
	defer certificate.Close()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, &rpc.Options{MaxPendingOfOne: 1}, func(l net.Listener) net.Listener {
			return tls.NewListener(l, &tls.Config{Certificates: certificate.TLS.Certificates})
		})
		raw, ok := c.connect("192.0.2.1")
		if !ok {
			t.Fatal("it is closed")
		}
		conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
		if _, ok := c.connect("192.0.2.1"); ok {
			t.Error("a second one without a token is open")
		}
		if got := ping(t, conn, devToken); got != 200 {
			t.Fatal(got)
		}
		if _, ok := c.connect("192.0.2.1"); !ok {
			t.Error("it is still counted")
		}
	})
}

// TestFewAddressesKeepNoOneOut: when all places are taken, a client of another address replaces a
// connection of the address with the most.
func TestFewAddressesKeepNoOneOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, &rpc.Options{MaxPending: 20, MaxPendingOfOne: 10}, nil)
		var first net.Conn
		for i := range 20 {
			conn, ok := c.connect([]string{"192.0.2.1", "192.0.2.2"}[i%2])
			if !ok {
				t.Fatalf("%d is closed", i)
			}
			if i == 0 {
				first = conn
			}
		}
		var good []net.Conn
		for i := range 12 {
			conn, ok := c.connect("198.51.100." + []string{"1", "2", "3"}[i%3])
			if !ok {
				t.Fatalf("good connection %d is kept out", i)
			}
			good = append(good, conn)
		}
		_ = first.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := first.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the oldest of the crowd: %v", err)
		}
		for _, conn := range good {
			if status := ping(t, conn, devToken); status != 200 {
				t.Errorf("HTTP %d", status)
			}
		}
	})
}

// TestSilentSocketsBehindAProxy: sockets are counted by the address behind the proxy, so that no
// client keeps another out.
func TestSilentSocketsBehindAProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := behindProxy()
		o.MaxPendingOfOne = 3
		w := newWorld(t, o)
		token := w.as("admin").token(`{"agentId":"alice"}`)
		open := func(address string) (*peer, error) { return w.upgrade("", http.Header{"X-Forwarded-For": {address}}) }
		var last *peer
		for i := range 5 {
			p, err := open("192.0.2.1")
			if good := err == nil; good != (i < 3) {
				t.Errorf("socket %d: %v", i, err)
			}
			if err == nil {
				last = p
			}
		}
		if _, err := w.upgrade("", from("192.0.2.1", token)); err != nil {
			t.Errorf("with a token: %v", err)
		}
		// clients behind the proxy have no limits of the Listener
		for _, elsewhere := range []string{"192.0.2.2", "127.0.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.1"} {
			if _, err := open(elsewhere); err != nil {
				t.Errorf("from %s: %v", elsewhere, err)
			}
		}
		last.must(methods.Authenticate, `{"token":"`+token+`"}`)
		if _, err := open("192.0.2.1"); err != nil {
			t.Errorf("when one has shown a token: %v", err)
		}
		time.Sleep(6 * time.Second)
		synctest.Wait()
		for range 3 {
			if _, err := open("192.0.2.1"); err != nil {
				t.Errorf("when they have ended: %v", err)
			}
		}
	})
}
