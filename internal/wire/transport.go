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
	// connBuffer is the size of the buffers that coder/websocket gets: enough for any control frame, of at most 131 bytes, and for the header of
	// a data frame. An idle connection keeps two of them.
	connBuffer = 256
	// aheadBytes is how much is read at once. A waiting connection holds no such buffer.
	aheadBytes = 16 << 10
	// pieceBytes is how much is written under one deadline.
	pieceBytes = 64 << 10
)

// hijacker hands coder/websocket a transport with small buffers instead of net/http's.
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
	return h.conn, bufio.NewReadWriter(bufio.NewReaderSize(h.conn, connBuffer), bufio.NewWriterSize(h.conn, connBuffer)), nil
}

// transport is the connection below a socket. It reads as much as there is with one system call, into a buffer that it holds only while there is something
// in it, and writes without a deadline where nothing has to wait.
//
// Frames of text come from one flusher at a time, which makes them itself (AppendFrameHead). Control frames are coder/websocket's: they may come at any moment
// from another goroutine, each as one Write, and go between frames.
type transport struct {
	net.Conn
	timeout time.Duration
	raw     syscall.RawConn // nil where the connection is not the system's own: TLS, memory

	// Of the reading goroutine: what was read and not asked for yet, and the buffer that it lies in, if that is lent.
	ahead []byte
	lent  *[]byte
	fill  func(fd uintptr) bool
	err   error // of fill

	// turn is the right to write, so that no frame is cut in two. It is a channel because it is held over a write. It guards the fields below.
	turn   chan struct{}
	over   error // why nothing more is written: a close frame was, or a write has failed, perhaps within a frame
	out    []byte
	drain  func(fd uintptr) bool
	outErr error // of drain

	// held is true between a TryWrite that could not write all and FinishWrite. It is of the flusher.
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

// aheads are for reading. They are not kept by connections that wait.
var aheads = sync.Pool{New: func() any {
	b := make([]byte, aheadBytes)
	return &b
}}

// Read gives what was read ahead, or waits for more.
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

// fillFrom reads what there is, and reports false when that is nothing yet.
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

var errGoodbye = errors.New("the socket has said goodbye")

// TryWrite writes what can be written without waiting, and gives the rest, which FinishWrite then owes: until then nobody else writes. What was given is whole
// frames.
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

// drainTo writes what goes out at once. It never waits.
func (t *transport) drainTo(fd uintptr) bool {
	n, err := writeNow(fd, t.out)
	if err == errNotNow {
		err = nil
	}
	t.out, t.outErr = t.out[n:], err
	return true
}

// FinishWrite writes the rest of a TryWrite, or whole frames after none. A peer that takes nothing for the timeout fails it.
func (t *transport) FinishWrite(b []byte) error {
	if !t.held {
		t.turn <- struct{}{}
	}
	t.held = false
	defer func() { <-t.turn }()
	return t.write(b)
}

// write writes all of p, unless writing is over. The caller has the turn.
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
	return t.Conn.SetWriteDeadline(time.Time{}) // else a TryWrite would meet it when it is over
}

// The first byte of a frame (RFC 6455, section 5.2).
const (
	opcodeBits  = 0x0f
	opcodeText  = 0x01
	opcodeClose = 0x08
	finalBit    = 0x80
)

// AppendFrameHead begins a text frame of a server: so many bytes follow.
func AppendFrameHead(b []byte, bytes int) []byte {
	switch b = append(b, finalBit|opcodeText); {
	case bytes < 126:
		return append(b, byte(bytes))
	case bytes < 1<<16:
		return append(b, 126, byte(bytes>>8), byte(bytes))
	}
	return append(b, 127, 0, 0, 0, 0, byte(bytes>>24), byte(bytes>>16), byte(bytes>>8), byte(bytes))
}
