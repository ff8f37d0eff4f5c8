package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/memnet"
	"github.com/parleyhub/parley/internal/wire"
)

// addFrame appends a text frame of a server.
func addFrame(b, text []byte) []byte { return append(wire.AppendFrameHead(b, len(text)), text...) }

// write writes whole frames with TryWrite and FinishWrite.
func write(c *wire.Conn, b []byte) error {
	rest, err := c.TryWrite(b)
	if err != nil || len(rest) == 0 {
		return err
	}
	return c.FinishWrite(rest)
}

// pair connects a Stream to a Conn in memory. writes counts the writes of the server.
func pair(t *testing.T, o *wire.DialOptions) (client *wire.Stream, server *wire.Conn, writes *atomic.Int64) {
	t.Helper()
	l := memnet.Listen()
	writes = &atomic.Int64{}
	client, server = connect(t, o, countingListener{l, writes}, l.DialContext)
	return client, server, writes
}

// loopback connects them over a real connection.
func loopback(t *testing.T) (client *wire.Stream, server *wire.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, nil, l, func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	})
}

func connect(t *testing.T, o *wire.DialOptions, l net.Listener, dial func(context.Context, string, string) (net.Conn,
	error)) (client *wire.Stream, server *wire.Conn) {
	t.Helper()
	conns := make(chan *wire.Conn, 1)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := wire.Accept(w, r, 10*time.Second)
		if err != nil {
			t.Error(err)
			return
		}
		conns <- c
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(l) // http.ErrServerClosed
	}()
	if o == nil {
		o = &wire.DialOptions{}
	}
	o.HTTPClient = &http.Client{Transport: &http.Transport{DialContext: dial}}
	client, err := wire.DialStream(t.Context(), "ws://localhost/rpc", o)
	if err != nil {
		t.Fatal(err)
	}
	server = <-conns
	t.Cleanup(func() {
		client.Close()
		server.CloseNow()
		s.Close()
		<-served
	})
	return client, server
}

type countingListener struct {
	net.Listener
	writes *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countingConn{c, l.writes}, nil
}

type countingConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c countingConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// Many frames are one write, and arrive complete.
func TestManyFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server, writes := pair(t, nil)
		var b []byte
		var texts []string
		for i := range 50 {
			texts = append(texts, fmt.Sprintf(`{"n":%d,"pad":%q}`, i, strings.Repeat("x", 20*i)))
			b = addFrame(b, []byte(texts[i]))
		}
		before := writes.Load()
		if err := write(server, b); err != nil {
			t.Fatal(err)
		}
		if n := writes.Load() - before; n != 1 {
			t.Errorf("50 frames took %d writes", n)
		}
		for i, want := range texts {
			got, err := client.ReadFrame(nil)
			if err != nil || string(got) != want {
				t.Fatalf("frame %d: %q, %v", i, got, err)
			}
		}
	})
}

// Pings and pongs between large frames break none of them, in one piece or several.
func TestControlFrames(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			client, server, _ := pair(t, nil)
			framesAndPings(t, client, server)
		})
	})
	t.Run("loopback", func(t *testing.T) {
		client, server := loopback(t)
		framesAndPings(t, client, server)
	})
}

func framesAndPings(t *testing.T, client *wire.Stream, server *wire.Conn) {
	var group sync.WaitGroup
	group.Go(func() { // reads, so answers pings and sees pongs
		for {
			if _, err := server.Read(); err != nil {
				_ = server.CloseNow() // ends the pings
				return
			}
		}
	})
	const rounds = 40
	group.Go(func() {
		defer client.Close()
		frame := []byte(nil)
		for i := range rounds * 3 {
			var err error
			if frame, err = client.ReadFrame(frame); err != nil || !json.Valid(frame) {
				t.Errorf("frame %d of %d bytes: %v", i, len(frame), err)
				return
			}
		}
	})
	var pings sync.WaitGroup
	for range 8 {
		pings.Go(func() {
			for range rounds {
				_ = client.Ping(t.Context()) // the client may ended
				_ = server.Ping(t.Context())
			}
		})
	}
	small, large := []byte(`{"a":1}`), []byte(`{"a":"`+strings.Repeat("y", 150<<10)+`"}`)
	b := addFrame(addFrame(addFrame(nil, small), large), small)
	for range rounds {
		if err := write(server, b); err != nil {
			t.Error(err)
			break
		}
	}
	pings.Wait()
	group.Wait()
}

// Requests that arrive together are read together, and each is one frame.
func TestPipelined(t *testing.T) {
	client, server := loopback(t)
	var want []string
	for i := range 300 {
		want = append(want, fmt.Sprintf(`{"n":%d,"pad":%q}`, i, strings.Repeat("x", i*i%5000)))
	}
	sent := make(chan error, 1)
	go func() {
		var err error
		for _, w := range want {
			err = errors.Join(err, client.WriteFrame([]byte(w)))
		}
		sent <- err
	}()
	for i, w := range want {
		got, err := server.Read()
		if err != nil || string(got) != w {
			t.Fatalf("request %d: %.80q, %v", i, got, err)
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

// No text follows a close frame, in one piece or after a wait.
func TestNothingAfterGoodbye(t *testing.T) {
	client, server := loopback(t)
	closed := make(chan error, 1)
	go func() { closed <- server.Close(wire.CloseGoingAway, "bye") }()
	go func() { // the server's end of the goodbye waits for the client's
		for {
			if _, err := server.Read(); err != nil {
				return
			}
		}
	}()
	if _, err := client.ReadFrame(nil); wire.CloseCode(err) != wire.CloseGoingAway {
		t.Fatalf("read %v, expected 1001", err)
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	frame := addFrame(nil, []byte(`{}`))
	if rest, err := server.TryWrite(frame); err == nil {
		t.Errorf("TryWrite after the goodbye left %d bytes and no error", len(rest))
	}
	if err := server.FinishWrite(frame); err == nil {
		t.Error("FinishWrite after the goodbye has no error")
	}
}

// A client that does not read fails the write after the timeout, not before.
func TestWriteStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server, _ := pair(t, &wire.DialOptions{WriteTimeout: 3 * time.Second})
		frame := []byte(`"` + strings.Repeat("z", 4*memnet.Buffer) + `"`)
		begin := time.Now()
		if err := server.Send(frame); err == nil || time.Since(begin) != 10*time.Second {
			t.Errorf("the hub's write ended after %v: %v", time.Since(begin), err)
		}
		begin = time.Now()
		if err := client.WriteFrame(frame); err == nil || time.Since(begin) > 3*time.Second {
			t.Errorf("the client's write ended after %v: %v", time.Since(begin), err)
		}
	})
}

// After a write that failed within a frame, nothing more is written, not even a close frame, which
// the client would read as text.
func TestNothingAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, server, writes := pair(t, nil)
		if err := server.Send([]byte(`"` + strings.Repeat("z", 4*memnet.Buffer) + `"`)); err == nil {
			t.Fatal("a peer that takes nothing has taken a large frame")
		}
		before := writes.Load()
		if err := server.Send([]byte(`{}`)); err == nil {
			t.Error("a frame behind half of one has no error")
		}
		if err := server.Close(wire.CloseGoingAway, "bye"); err == nil {
			t.Error("a goodbye behind half of a frame has no error")
		}
		if n := writes.Load() - before; n != 0 {
			t.Errorf("%d writes behind half of a frame, expected none", n)
		}
	})
}

func TestDialErrors(t *testing.T) {
	if _, err := wire.DialStream(t.Context(), "ws://127.0.0.1:1/rpc", nil); !errors.Is(err, parley.ErrUnavailable) {
		t.Errorf("nobody there: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		l := memnet.Listen()
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":4010,"message":"the token is not valid",`+
				`"data":{"reason":"unauthenticated","retryable":false}}}`)
		})}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = s.Serve(l) // http.ErrServerClosed
		}()
		transport := &http.Transport{DialContext: l.DialContext}
		_, err := wire.DialStream(t.Context(), "ws://localhost/rpc",
			&wire.DialOptions{HTTPClient: &http.Client{Transport: transport}})
		if !errors.Is(err, parley.ErrUnauthenticated) || !strings.Contains(err.Error(), "not valid") {
			t.Errorf("refused by the hub: %v", err)
		}
		transport.CloseIdleConnections()
		s.Close()
		<-served
	})
}
