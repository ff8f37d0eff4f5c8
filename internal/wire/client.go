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

// Close codes of a hub.
const (
	// 1000: another connection has registered as the same executor
	CloseReplaced        = int(websocket.StatusNormalClosure)
	CloseGoingAway       = int(websocket.StatusGoingAway)       // 1001: the hub stops
	CloseUnsupported     = int(websocket.StatusUnsupportedData) // 1003: a binary frame
	CloseTooBig          = int(websocket.StatusMessageTooBig)   // 1009: a frame over MaxFrameBytes
	CloseUnauthenticated = 4401                                 // no token in time, or it expired
)

// TLSOnly is the error text of DialStream for a call without TLS to a hub that requires it.
const TLSOnly = "takes TLS only"

// DialOptions configures DialStream. The zero value is ready to use.
type DialOptions struct {
	// HTTPClient makes the handshake; nil means http.DefaultClient. Its transport makes the
	// connection.
	HTTPClient *http.Client
	// Header has headers for the handshake, such as Authorization.
	Header http.Header
	// WriteTimeout limits one write; 0 means 10 s. A slower write ends the connection.
	WriteTimeout time.Duration
}

// Stream is the client side of a socket, with one JSON object per text frame. A [Peer] makes calls
// over it.
type Stream struct {
	conn    *websocket.Conn
	timeout time.Duration

	writing sync.Mutex // the right to write one frame; held for at most timeout
	stall   *time.Timer
}

// DialStream connects to url (ws, wss, http or https). A refusal of the hub is one of the sentinels
// of parley.Errors. If the hub cannot be reached, the error is parley.ErrUnavailable.
func DialStream(ctx context.Context, url string, o *DialOptions) (*Stream, error) {
	if o == nil {
		o = &DialOptions{}
	}
	conn, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: unended(o.HTTPClient),
		HTTPHeader: o.Header})
	if err != nil {
		return nil, dialError(url, resp, err)
	}
	// a reply may contain a page of MaxPageBytes; the limit of the hub is lower
	conn.SetReadLimit(2 * parley.MaxFrameBytes)
	s := &Stream{conn: conn, timeout: o.WriteTimeout}
	if s.timeout <= 0 {
		s.timeout = 10 * time.Second
	}
	s.stall = time.AfterFunc(s.timeout, func() { _ = conn.CloseNow() })
	s.stall.Stop()
	return s, nil
}

// dialError converts a failed handshake to the error of the hub.
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
	// the text of net/http
	if resp.StatusCode == http.StatusBadRequest && bytes.Contains(body, []byte("to an HTTPS server")) {
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

// ReadFrame appends the next text frame to buf[:0] and returns it. Only one goroutine may read.
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

// WriteFrame sends one text frame, or ends the connection if the hub does not read it in time. Any
// goroutine may write.
func (s *Stream) WriteFrame(frame []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.stall.Reset(s.timeout)
	defer s.stall.Stop()
	return s.conn.Write(context.Background(), websocket.MessageText, frame)
}

// Ping waits until the hub has answered a ping. Another goroutine must be reading.
func (s *Stream) Ping(ctx context.Context) error { return s.conn.Ping(ctx) }

// Close ends the connection at once, without a closing handshake.
func (s *Stream) Close() error {
	s.stall.Stop()
	return s.conn.CloseNow()
}

// CloseCode returns the close code in an error of a read, or -1 if none exists.
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
