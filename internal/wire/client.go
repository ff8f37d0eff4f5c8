package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/parleyhub/parley"
)

// Close codes that a hub gives.
const (
	CloseReplaced        = int(websocket.StatusNormalClosure)   // 1000: another connection has registered as the same executor
	CloseGoingAway       = int(websocket.StatusGoingAway)       // 1001: the hub stops
	CloseUnsupported     = int(websocket.StatusUnsupportedData) // 1003: a binary frame
	CloseTooBig          = int(websocket.StatusMessageTooBig)   // 1009: a frame over MaxFrameBytes
	CloseUnauthenticated = 4401                                 // no token in time, or it expired
)

// TLSOnly is what DialStream says of a hub that was called without TLS and takes nothing else.
const TLSOnly = "takes TLS only"

// DialOptions are for DialStream; the zero value is useful.
type DialOptions struct {
	// HTTPClient makes the handshake; nil: http.DefaultClient. Its transport decides how the connection is made.
	HTTPClient *http.Client
	// Header is sent with the handshake, such as Authorization.
	Header http.Header
	// WriteTimeout bounds one write; 0: 10 s. A write that takes longer ends the connection.
	WriteTimeout time.Duration
}

// Stream is the client's end of a socket: one JSON object in each text frame. A [Peer] makes calls over it.
type Stream struct {
	conn    *websocket.Conn
	timeout time.Duration

	writing sync.Mutex // the right to write one frame; held at most for timeout
	stall   *time.Timer
}

// DialStream connects to url (ws, wss, http or https). A refusal of the hub is one of the sentinels of parley.Errors; a hub that is
// not reachable is parley.ErrUnavailable.
func DialStream(ctx context.Context, url string, o *DialOptions) (*Stream, error) {
	if o == nil {
		o = &DialOptions{}
	}
	conn, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: unended(o.HTTPClient), HTTPHeader: o.Header})
	if err != nil {
		return nil, dialError(url, resp, err)
	}
	conn.SetReadLimit(2 * parley.MaxFrameBytes) // a reply may wrap a page of MaxPageBytes; the hub's own bound is lower
	s := &Stream{conn: conn, timeout: o.WriteTimeout}
	if s.timeout <= 0 {
		s.timeout = 10 * time.Second
	}
	s.stall = time.AfterFunc(s.timeout, func() { _ = conn.CloseNow() })
	s.stall.Stop()
	return s, nil
}

// dialError turns a failed handshake into the error that the hub meant.
func dialError(url string, resp *http.Response, err error) error {
	if resp == nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return fmt.Errorf("%w: dial %s: %w", parley.ErrUnavailable, url, err)
	}
	var reply struct {
		Error *parley.WireError `json:"error"`
	}
	body, readErr := io.ReadAll(resp.Body)
	if readErr == nil && json.Unmarshal(body, &reply) == nil && reply.Error != nil {
		return parley.FromWire(*reply.Error)
	}
	if resp.StatusCode == http.StatusBadRequest && bytes.Contains(body, []byte("to an HTTPS server")) { // net/http's words
		return parley.Refuse(parley.ErrUnavailable, url+" "+TLSOnly, "an address that begins with wss://")
	}
	sentinel := parley.ErrUnavailable
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		sentinel = parley.ErrUnauthenticated
	case http.StatusForbidden:
		sentinel = parley.ErrForbidden
	case http.StatusNotFound:
		sentinel = parley.ErrNotFound
	}
	return parley.Refuse(sentinel, fmt.Sprintf("%s answered %s to the handshake", url, resp.Status), "a Parley hub's /rpc")
}

// ReadFrame appends the next text frame to buf[:0] and returns it. One goroutine reads.
func (s *Stream) ReadFrame(buf []byte) ([]byte, error) {
	kind, r, err := s.conn.Reader(context.Background())
	if err != nil {
		return nil, err
	}
	buf, err = ReadAll(r, buf[:0])
	if err == nil && kind != websocket.MessageText {
		err = errors.New("the hub sent a binary frame")
	}
	return buf, err
}

// WriteFrame sends one text frame, or ends the connection when the peer takes it not in time. Any goroutine may write.
func (s *Stream) WriteFrame(frame []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.stall.Reset(s.timeout)
	defer s.stall.Stop()
	return s.conn.Write(context.Background(), websocket.MessageText, frame)
}

// Ping waits until the hub has answered a ping. Another goroutine must be reading.
func (s *Stream) Ping(ctx context.Context) error { return s.conn.Ping(ctx) }

// Close ends the connection at once, without a handshake: nobody waits for a peer that may be gone.
func (s *Stream) Close() error {
	s.stall.Stop()
	return s.conn.CloseNow()
}

// CloseCode finds the close code in an error of a read; -1 when the connection ended without one.
func CloseCode(err error) int { return int(websocket.CloseStatus(err)) }

// ReadAll appends everything of r to buf.
func ReadAll(r io.Reader, buf []byte) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}
