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

// CloseError is the end of a connection that the server itself has to bring about, with the code for it.
type CloseError struct {
	Code   int
	Reason string
}

func (e *CloseError) Error() string { return e.Reason }

// Conn is the server's end of a socket. One goroutine reads, one at a time writes; the others may be called from anywhere.
type Conn struct {
	ws        *websocket.Conn
	transport *transport

	reading *[]byte // of the reading goroutine; nil while it waits
}

// Accept answers the handshake; a request that is none it has answered with an HTTP error. The caller has checked Host and Origin.
// The HTTP handler may return: the connection is the caller's from here on. A write that the peer takes nothing of for writeTimeout fails.
func Accept(w http.ResponseWriter, r *http.Request, writeTimeout time.Duration) (*Conn, error) {
	h := &hijacker{ResponseWriter: w, timeout: writeTimeout}
	ws, err := websocket.Accept(h, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(parley.MaxFrameBytes)
	return &Conn{ws: ws, transport: h.conn}, nil
}

// keptBytes is the largest buffer that is used again.
const keptBytes = 64 << 10

// readBuffers are lent for as long as a frame is looked at, so that a waiting connection holds none.
var readBuffers = sync.Pool{New: func() any {
	b := make([]byte, 0, 4<<10)
	return &b
}}

// Read waits for the next text frame, which is valid until the next Read. A *CloseError says that the peer broke a rule.
func (c *Conn) Read() ([]byte, error) {
	c.release()
	kind, r, err := c.ws.Reader(context.Background()) // a ctx that can end costs 19 allocations a frame
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

// TryWrite sends whole frames, made with AppendFrameHead, as far as they go without waiting, and gives the rest: all of it where only FinishWrite can tell. Who
// gets a rest owes a FinishWrite of it before anything else is written.
func (c *Conn) TryWrite(b []byte) (rest []byte, err error) { return c.transport.TryWrite(b) }

// FinishWrite sends whole frames, or the rest of a TryWrite, and waits until the peer takes them.
func (c *Conn) FinishWrite(b []byte) error { return c.transport.FinishWrite(b) }

// Send sends one frame and waits until the peer takes it: for who sends few.
func (c *Conn) Send(text []byte) error {
	return c.FinishWrite(append(AppendFrameHead(nil, len(text)), text...))
}

// Ping waits until the peer has answered a ping. The reading goroutine must be reading.
func (c *Conn) Ping(ctx context.Context) error { return c.ws.Ping(ctx) }

// Close says goodbye with a code and waits up to 5 s for the peer to do the same. A second Close waits for the first.
func (c *Conn) Close(code int, reason string) error {
	return c.ws.Close(websocket.StatusCode(code), reason)
}

// Cut takes the network away: reads, writes, pings and a Close that waits all fail at once. It never blocks. The reading
// goroutine still owes a Close or CloseNow.
func (c *Conn) Cut() {
	conn := c.transport.Conn
	if over, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = over.NetConn() // the goodbye of TLS waits 5 s for a peer that does not read
	}
	_ = conn.Close() // what cannot be closed is closed
}

// CloseNow ends the connection without a word, after a Close that is under way.
func (c *Conn) CloseNow() error { return c.ws.CloseNow() }
