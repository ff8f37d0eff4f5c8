package wire

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

const (
	// connBuffer is the size of the buffers of coder/websocket: enough for a control frame of at most
	// 131 bytes, and for the header of a data frame. An idle connection has two of them.
	connBuffer = 256
	// aheadBytes is the size of one read. A waiting connection has no such buffer.
	aheadBytes = 16 << 10
	// pieceBytes is the size of a write under one deadline.
	pieceBytes = 64 << 10
)

// hijacker passes a transport with small buffers to coder/websocket instead of that of net/http.
type hijacker struct {
	http.ResponseWriter
	timeout time.Duration
	conn    *transport
}

func (h *hijacker) Unwrap() http.ResponseWriter { return h.ResponseWriter }

func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early := make([]byte, rw.Reader.Buffered())
	if _, err := rw.Read(early); err != nil && len(early) > 0 {
		_ = conn.Close()
		return nil, nil, err
	}
	h.conn = newTransport(conn, early, h.timeout)
	return h.conn, bufio.NewReadWriter(bufio.NewReaderSize(h.conn, connBuffer), bufio.NewWriterSize(h.conn, connBuffer)),
		nil
}

// transport is the connection below a socket. It reads as much as there is with one system call,
// into a buffer that it holds only while there is something in it, and writes without a deadline
// where nothing has to wait.
//
// Frames of text come from one flusher at a time, which makes them itself (AppendFrameHead).
// Control frames are coder/websocket's: they may come at any moment from another goroutine, each as
// one Write, and go between frames.
type transport struct {
	net.Conn
	timeout time.Duration
	raw     syscall.RawConn // nil for connections in memory or with TLS

	// Of the reading goroutine: bytes that were read ahead, and their buffer, if there is one.
	ahead []byte
	lent  *[]byte
	fill  func(fd uintptr) bool
	err   error // of fill

	// turn is the right to write, so that no frame is interrupted. It is a channel because it is held
	// during writes. It guards the fields below.
	turn   chan struct{}
	over   error // why writing ended: a close frame was sent, or a write failed, perhaps within a frame
	out    []byte
	drain  func(fd uintptr) bool
	outErr error // of drain

	// held is true from a TryWrite with a rest until FinishWrite. Only the flusher uses it.
	held bool
}

func newTransport(conn net.Conn, early []byte, timeout time.Duration) *transport {
	t := &transport{Conn: conn, timeout: timeout, ahead: early, turn: make(chan struct{}, 1)}
	if c, ok := conn.(syscall.Conn); ok && directly {
		if raw, err := c.SyscallConn(); err == nil {
			t.raw, t.fill, t.drain = raw, t.fillFrom, t.drainTo
		}
	}
	return t
}

// aheads are buffers for reading. Waiting connections have none.
var aheads = sync.Pool{New: func() any {
	b := make([]byte, aheadBytes)
	return &b
}}

// Read returns bytes that were read ahead, or waits for more.
func (t *transport) Read(p []byte) (int, error) {
	if len(t.ahead) == 0 {
		if t.raw == nil || len(p) >= aheadBytes {
			n, err := t.Conn.Read(p)
			return n, unexpected(err)
		}
		if err := t.raw.Read(t.fill); err != nil {
			return 0, err
		}
		if t.err != nil {
			return 0, unexpected(t.err)
		}
	}
	n := copy(p, t.ahead)
	if t.ahead = t.ahead[n:]; len(t.ahead) == 0 {
		t.ahead = nil
		if t.lent != nil {
			aheads.Put(t.lent)
			t.lent = nil
		}
	}
	return n, nil
}

// fillFrom reads the available bytes. It returns false if none exist yet.
func (t *transport) fillFrom(fd uintptr) bool {
	b := aheads.Get().(*[]byte)
	n, err := readNow(fd, *b)
	if err == errNotNow {
		aheads.Put(b)
		return false
	}
	if t.err = err; err != nil {
		aheads.Put(b)
		return true
	}
	t.lent, t.ahead = b, (*b)[:n]
	return true
}

// Write writes control frames.
func (t *transport) Write(p []byte) (int, error) {
	t.turn <- struct{}{}
	defer func() { <-t.turn }()
	if err := t.write(p); err != nil {
		return 0, err
	}
	if len(p) > 0 && p[0]&opcodeBits == opcodeClose {
		t.over = errGoodbye
	}
	return len(p), nil
}

var errGoodbye = errors.New("the socket is closing")

// TryWrite writes as much as possible without waiting, and returns the rest for FinishWrite. Until
// then, no one else writes. b must have whole frames.
func (t *transport) TryWrite(b []byte) (rest []byte, err error) {
	if t.raw == nil {
		return b, nil
	}
	select {
	case t.turn <- struct{}{}:
	default:
		return b, nil // a control frame is being written
	}
	if t.over == nil {
		rest, t.over = t.writeNow(b)
	}
	if t.held = t.over == nil && len(rest) > 0; t.held {
		return rest, nil
	}
	defer func() { <-t.turn }()
	return nil, t.over
}

func (t *transport) writeNow(b []byte) (rest []byte, err error) {
	t.out = b
	err = t.raw.Write(t.drain)
	if err == nil {
		err = t.outErr
	}
	rest, t.out = t.out, nil
	return rest, err
}

// drainTo writes what the connection accepts at once. It never waits.
func (t *transport) drainTo(fd uintptr) bool {
	n, err := writeNow(fd, t.out)
	if err == errNotNow {
		err = nil
	}
	t.out, t.outErr = t.out[n:], err
	return true
}

// FinishWrite writes the rest of a TryWrite, or whole frames. It fails if the client reads nothing
// for the timeout.
func (t *transport) FinishWrite(b []byte) error {
	if !t.held {
		t.turn <- struct{}{}
	}
	t.held = false
	defer func() { <-t.turn }()
	return t.write(b)
}

// write writes all of p, unless writing ended. The caller must hold turn.
func (t *transport) write(p []byte) error {
	if t.over == nil {
		t.over = t.writeAll(p)
	}
	return t.over
}

func (t *transport) writeAll(p []byte) error {
	for len(p) > 0 {
		piece := p[:min(len(p), pieceBytes)]
		if err := t.Conn.SetWriteDeadline(time.Now().Add(t.timeout)); err != nil {
			return err
		}
		n, err := t.Conn.Write(piece)
		if err != nil {
			return err
		}
		p = p[n:]
	}
	if t.raw == nil {
		return nil
	}
	return t.Conn.SetWriteDeadline(time.Time{}) // otherwise a later TryWrite would fail with it
}

// The first byte of a frame (RFC 6455, section 5.2).
const (
	opcodeBits  = 0x0f
	opcodeText  = 0x01
	opcodeClose = 0x08
	finalBit    = 0x80
)

// AppendFrameHead begins a text frame of a server with the given number of bytes.
func AppendFrameHead(b []byte, bytes int) []byte {
	switch b = append(b, finalBit|opcodeText); {
	case bytes < 126:
		return append(b, byte(bytes))
	case bytes < 1<<16:
		return append(b, 126, byte(bytes>>8), byte(bytes))
	}
	return append(b, 127, 0, 0, 0, 0, byte(bytes>>24), byte(bytes>>16), byte(bytes>>8), byte(bytes))
}
