package wire

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/parleyhub/parley"
)

// CloseError is a reason for the server to end a connection, with the close code.
type CloseError struct {
	Code   int
	Reason string
}

func (e *CloseError) Error() string { return e.Reason }

// Conn is the server side of a socket. One goroutine may read, and one at a time may write. The
// other methods are safe for concurrent use.
type Conn struct {
	ws        *websocket.Conn
	transport *transport

	reading *[]byte // of the reading goroutine; nil while it waits
}

// Accept answers the handshake. It answers an invalid request with an HTTP error. The caller must have
// checked Host and Origin, and owns the connection afterwards; the HTTP handler may return. A write
// fails if the client reads nothing for writeTimeout.
func Accept(w http.ResponseWriter, r *http.Request, writeTimeout time.Duration) (*Conn, error) {
	h := &hijacker{ResponseWriter: w, timeout: writeTimeout}
	ws, err := websocket.Accept(h, r, &websocket.AcceptOptions{InsecureSkipVerify: true,
		CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(parley.MaxFrameBytes)
	return &Conn{ws: ws, transport: h.conn}, nil
}

// keptBytes is the largest buffer that is reused.
const keptBytes = 64 << 10

// readBuffers are used while a frame is processed, so that a waiting connection has none.
var readBuffers = sync.Pool{New: func() any {
	b := make([]byte, 0, 4<<10)
	return &b
}}

// Read waits for the next text frame, which is valid until the next Read. A *CloseError means that
// the client broke a rule.
func (c *Conn) Read() ([]byte, error) {
	c.release()
	kind, r, err := c.ws.Reader(context.Background()) // a ctx that can end costs 19 allocations per frame
	if err != nil {
		return nil, err
	}
	if kind != websocket.MessageText {
		return nil, &CloseError{CloseUnsupported, "frames are text"}
	}
	c.reading = readBuffers.Get().(*[]byte)
	*c.reading, err = ReadAll(r, (*c.reading)[:0])
	if errors.Is(err, websocket.ErrMessageTooBig) {
		return nil, &CloseError{CloseTooBig, "the frame is too large"}
	}
	return *c.reading, err
}

func (c *Conn) release() {
	if c.reading != nil && cap(*c.reading) <= keptBytes {
		readBuffers.Put(c.reading)
	}
	c.reading = nil
}

// TryWrite sends whole frames of AppendFrameHead as far as possible without waiting, and returns
// the rest. The rest is everything if only FinishWrite can decide. After a rest, the caller must
// call FinishWrite with it before any other write.
func (c *Conn) TryWrite(b []byte) (rest []byte, err error) { return c.transport.TryWrite(b) }

// FinishWrite sends whole frames, or the rest of a TryWrite, and waits until they are written.
func (c *Conn) FinishWrite(b []byte) error { return c.transport.FinishWrite(b) }

// Send sends one frame and waits until it is written. It is meant for callers with few frames.
func (c *Conn) Send(text []byte) error {
	return c.FinishWrite(append(AppendFrameHead(nil, len(text)), text...))
}

// Ping waits until the client has answered a ping. Another goroutine must be reading.
func (c *Conn) Ping(ctx context.Context) error { return c.ws.Ping(ctx) }

// Close sends a close frame with a code, and waits up to 5 s for that of the client. A second Close
// waits for the first.
func (c *Conn) Close(code int, reason string) error {
	return c.ws.Close(websocket.StatusCode(code), reason)
}

// Cut closes the network connection: reads, writes, pings and a waiting Close fail at once. It
// never blocks. The reading goroutine must still call Close or CloseNow.
func (c *Conn) Cut() {
	conn := c.transport.Conn
	if over, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = over.NetConn() // closing TLS waits 5 s for a client that does not read
	}
	_ = conn.Close() // what cannot be closed is closed
}

// CloseNow ends the connection without a close frame, after a running Close.
func (c *Conn) CloseNow() error { return c.ws.CloseNow() }
