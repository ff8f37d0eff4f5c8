package wire

import (
	"bufio"
	"net"
	"net/http"
	"sync"
	"time"
)

// connBuffer is the size of the buffers that coder/websocket gets: enough for any control frame and for the header of
// a data frame. An idle connection keeps two of them.
const connBuffer = 512

// uncorkAbove is when gathered frames are written although more are to come.
const uncorkAbove = 64 << 10

// hijacker hands coder/websocket a corkable connection with small buffers instead of net/http's.
type hijacker struct {
	http.ResponseWriter
	timeout time.Duration
	conn    *corkConn
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
	h.conn = &corkConn{Conn: conn, early: early, timeout: h.timeout, turn: make(chan struct{}, 1)}
	return h.conn, bufio.NewReadWriter(bufio.NewReaderSize(h.conn, connBuffer), bufio.NewWriterSize(h.conn, connBuffer)), nil
}

// corkConn gathers what is written while it is corked, so that many frames become one system call.
//
//	cork -> Write, Write, ... (gathered) -> uncork (one write)
//
// Frames come from one flusher at a time, which alone corks. Control frames may come at any moment from another goroutine;
// each is one Write, so it lands between frames wherever it falls.
type corkConn struct {
	net.Conn
	timeout time.Duration

	early []byte // what the HTTP server had read already; of the reading goroutine

	// turn is the right to write to the socket, so that what is written in pieces is not cut in two by a control frame. It is a
	// channel because it is held over a write.
	turn chan struct{}

	mu       sync.Mutex // guards the fields below
	gathered *[]byte    // nil: not corked
}

func (c *corkConn) Read(p []byte) (int, error) {
	if len(c.early) > 0 {
		n := copy(p, c.early)
		c.early = c.early[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

func (c *corkConn) Write(p []byte) (int, error) {
	if c.gather(p) {
		return len(p), nil
	}
	return len(p), c.write(p)
}

func (c *corkConn) gather(p []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gathered == nil {
		return false
	}
	*c.gathered = append(*c.gathered, p...)
	return true
}

// write writes all of p. A peer that takes nothing for the timeout fails it.
func (c *corkConn) write(p []byte) error {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	for len(p) > 0 {
		piece := p[:min(len(p), uncorkAbove)]
		if err := c.Conn.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
			return err
		}
		n, err := c.Conn.Write(piece)
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// buffers are for gathering; they are not kept by connections at rest.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func (c *corkConn) cork() {
	b := buffers.Get().(*[]byte)
	*b = (*b)[:0]
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gathered = b
}

// full reports whether enough is gathered to be written.
func (c *corkConn) full() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(*c.gathered) >= uncorkAbove
}

// uncork writes what was gathered.
func (c *corkConn) uncork() error {
	c.mu.Lock()
	b := c.gathered
	c.gathered = nil
	c.mu.Unlock()
	err := c.write(*b)
	if cap(*b) <= 2*uncorkAbove {
		buffers.Put(b)
	}
	return err
}
