package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Target is where a load goes.
type Target struct {
	// URL of a hub's /rpc (ws, wss, http or https), or of a bare server.
	URL string
	// Token is one with scope admin. Without one the target is a bare server.
	Token string
	// TLS is for wss and https; nil is good.
	TLS *tls.Config
	// PID is the process of the server, whose CPU time is measured. It is 0 if it is unknown or on
	// another machine.
	PID int
	// CPU returns the CPU time if the server has several processes. It may be nil.
	CPU func() time.Duration
}

// benchAgent is who speaks in the conversations of a run.
const benchAgent = "bench"

// handshakeTimeout bounds one handshake.
const handshakeTimeout = 20 * time.Second

// bare says whether the target is no hub.
func (t *Target) bare() bool { return t.Token == "" }

// cpu returns 0 if the time is not known.
func (t *Target) cpu() time.Duration {
	switch {
	case t.CPU != nil:
		return t.CPU()
	case t.PID > 0:
		return ProcessCPU(t.PID)
	}
	return 0
}

// dial opens a socket, which speaks as benchAgent where the target is a hub. route is added to the
// path.
func (t *Target) dial(ctx context.Context, route string) (*socket, error) {
	u, err := url.Parse(t.URL)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	conn, err := t.connect(ctx, u)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	early, err := t.upgrade(conn, u, route)
	if err != nil {
		conn.Close()
		return nil, errors.Join(fmt.Errorf("handshake with %s: %w", t.URL, err), context.Cause(ctx))
	}
	return newSocket(conn, early), nil
}

func (t *Target) connect(ctx context.Context, u *url.URL) (net.Conn, error) {
	port := u.Port()
	secure := u.Scheme == "wss" || u.Scheme == "https"
	switch {
	case !secure && u.Scheme != "ws" && u.Scheme != "http":
		return nil, fmt.Errorf("%s: expected an address that begins with ws, wss, http or https", t.URL)
	case port == "" && secure:
		port = "443"
	case port == "":
		port = "80"
	}
	addr := net.JoinHostPort(u.Hostname(), port)
	if !secure {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	return (&tls.Dialer{Config: t.TLS}).DialContext(ctx, "tcp", addr)
}

// upgrade upgrades conn to a WebSocket. It returns the bytes that followed the answer.
func (t *Target) upgrade(conn net.Conn, u *url.URL, route string) ([]byte, error) {
	h := http.Header{
		"Upgrade": {"websocket"}, "Connection": {"Upgrade"}, "Sec-WebSocket-Version": {"13"},
		"Sec-WebSocket-Key": {base64.StdEncoding.EncodeToString(make([]byte, 16))},
	}
	if !t.bare() {
		h.Set("Authorization", "Bearer "+t.Token)
		h.Set("Parley-Agent", benchAgent)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "GET %s HTTP/1.1\r\nHost: %s\r\n", u.Path+route, u.Host)
	if err := h.Write(&b); err != nil {
		return nil, err
	}
	b.WriteString("\r\n")
	if _, err := conn.Write(b.Bytes()); err != nil {
		return nil, err
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodGet})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		said := make([]byte, min(300, max(0, resp.ContentLength)))
		n, _ := resp.Body.Read(said)
		return nil, fmt.Errorf("%s: %s", resp.Status, said[:n])
	}
	early := make([]byte, r.Buffered())
	_, err = r.Read(early)
	if len(early) == 0 {
		err = nil
	}
	return early, err
}
