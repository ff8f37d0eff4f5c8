package wire

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// A frame of which a broken connection delivers only a part is an error at both ends, never a
// shorter message.
func TestHalfAFrame(t *testing.T) {
	for name, c := range map[string]struct {
		ofServer bool
		bytes    []byte
	}{
		"head of an answer":  {true, AppendFrameHead(nil, 12)},
		"half an answer":     {true, append(AppendFrameHead(nil, 12), `{"a"`...)},
		"head of a request":  {false, []byte{finalBit | opcodeText, 0x80 | 12, 0, 0, 0, 0}},
		"half a request":     {false, append([]byte{finalBit | opcodeText, 0x80 | 12, 0, 0, 0, 0}, `{"a"`...)},
		"half of that head":  {false, []byte{finalBit | opcodeText}},
		"nothing of a frame": {true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			client, below, server := cutPair(t)
			if c.ofServer {
				if _, err := server.transport.Conn.Write(c.bytes); err != nil {
					t.Fatal(err)
				}
				server.Cut()
				if got, err := client.ReadFrame(nil); err == nil {
					t.Errorf("read %q", got)
				}
				return
			}
			if _, err := below.Write(c.bytes); err != nil {
				t.Fatal(err)
			}
			below.Close()
			if got, err := server.Read(); err == nil {
				t.Errorf("read %q", got)
			}
		})
	}
}

// cutPair connects a Stream to a Conn, and also returns the network connection of the client.
func cutPair(t *testing.T) (client *Stream, below net.Conn, server *Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := make(chan *Conn, 1)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := Accept(w, r, time.Minute)
		if err != nil {
			t.Error(err)
		}
		conns <- c
	})}
	go s.Serve(l) // ends with Close
	t.Cleanup(func() { s.Close() })
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		var err error
		below, err = d.DialContext(ctx, network, l.Addr().String())
		return below, err
	}
	o := &DialOptions{HTTPClient: &http.Client{Transport: &http.Transport{DialContext: dial}}}
	if client, err = DialStream(t.Context(), "ws://"+l.Addr().String()+"/", o); err != nil {
		t.Fatal(err)
	}
	server = <-conns
	t.Cleanup(func() { client.Close(); server.CloseNow() })
	return client, below, server
}

// Cut does not wait while TLS sends its close notification to a client that does not read.
func TestCutOverTLS(t *testing.T) {
	made := httptest.NewTLSServer(nil)
	defer made.Close()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe() // a write waits until the other end reads
		defer far.Close()
		// a server with 1.3 writes after the handshake
		peer := tls.Client(far, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
		shaken := make(chan error, 1)
		go func() { shaken <- peer.Handshake() }()
		over := tls.Server(near, made.TLS)
		if err := over.Handshake(); err != nil {
			t.Fatal(err)
		}
		if err := <-shaken; err != nil {
			t.Fatal(err)
		}
		c := &Conn{transport: &transport{Conn: over}}
		begin := time.Now()
		c.Cut()
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("Cut waited %s for the peer", waited)
		}
		if _, err := over.Write([]byte("x")); err == nil {
			t.Error("it is still written to")
		}
	})
}
