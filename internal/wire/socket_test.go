package wire_test

import (
	"bytes"
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

// pair connects a Stream to a Conn over a network in memory; writes counts the writes of the server's end.
func pair(t *testing.T, o *wire.DialOptions) (client *wire.Stream, server *wire.Conn, writes *atomic.Int64) {
	t.Helper()
	l := memnet.Listen()
	writes = &atomic.Int64{}
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
		_ = s.Serve(countingListener{l, writes}) // http.ErrServerClosed
	}()
	if o == nil {
		o = &wire.DialOptions{}
	}
	o.HTTPClient = &http.Client{Transport: &http.Transport{DialContext: l.DialContext}}
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
	return client, server, writes
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

// TestCork: many frames are one write, and come out whole.
func TestCork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server, writes := pair(t, nil)
		var b []byte
		var ends []int
		for i := range 50 {
			b = fmt.Appendf(b, `{"n":%d,"pad":%q}`, i, strings.Repeat("x", 20*i))
			ends = append(ends, len(b))
		}
		before := writes.Load()
		if err := server.Write(b, ends); err != nil {
			t.Fatal(err)
		}
		if n := writes.Load() - before; n != 1 {
			t.Errorf("50 frames took %d writes", n)
		}
		start := 0
		for i, end := range ends {
			got, err := client.ReadFrame(nil)
			if err != nil || !bytes.Equal(got, b[start:end]) {
				t.Fatalf("frame %d: %q, %v", i, got, err)
			}
			start = end
		}
	})
}

// TestCorkWithControlFrames: pings and pongs that come between large frames break none of them.
func TestCorkWithControlFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server, _ := pair(t, nil)
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
					_ = client.Ping(t.Context()) // the client may have ended
					_ = server.Ping(t.Context())
				}
			})
		}
		small, large := []byte(`{"a":1}`), []byte(`{"a":"`+strings.Repeat("y", 150<<10)+`"}`)
		b := bytes.Join([][]byte{small, large, small}, nil)
		for range rounds {
			if err := server.Write(b, []int{len(small), len(small) + len(large), len(b)}); err != nil {
				t.Error(err)
				break
			}
		}
		pings.Wait()
		group.Wait()
	})
}

// TestWriteStall: a peer that takes nothing fails the write after the timeout, not before.
func TestWriteStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server, _ := pair(t, &wire.DialOptions{WriteTimeout: 3 * time.Second})
		frame := []byte(`"` + strings.Repeat("z", 4*memnet.Buffer) + `"`)
		begin := time.Now()
		if err := server.Write(frame, []int{len(frame)}); err == nil || time.Since(begin) != 10*time.Second {
			t.Errorf("the hub's write ended after %v: %v", time.Since(begin), err)
		}
		begin = time.Now()
		if err := client.WriteFrame(frame); err == nil || time.Since(begin) > 3*time.Second {
			t.Errorf("the client's write ended after %v: %v", time.Since(begin), err)
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
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":4010,"message":"the token is not valid","data":{"reason":"unauthenticated","retryable":false}}}`)
		})}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = s.Serve(l) // http.ErrServerClosed
		}()
		transport := &http.Transport{DialContext: l.DialContext}
		_, err := wire.DialStream(t.Context(), "ws://localhost/rpc", &wire.DialOptions{HTTPClient: &http.Client{Transport: transport}})
		if !errors.Is(err, parley.ErrUnauthenticated) || !strings.Contains(err.Error(), "not valid") {
			t.Errorf("refused by the hub: %v", err)
		}
		transport.CloseIdleConnections()
		s.Close()
		<-served
	})
}
