package bench

import (
	"bufio"
	"errors"
	"net"
	"net/http"
)

// tapBuffer is how much of what a client has sent is read at once.
const tapBuffer = 16 << 10

// tap keeps the connection below a WebSocket, and what was read of it.
type tap struct {
	http.ResponseWriter
	conn   *gatherConn
	reader *bufio.Reader
}

func (t *tap) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(t.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	// the answer to the handshake goes out before the HTTP server stops reading
	early, err := rw.Reader.Peek(rw.Reader.Buffered())
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	t.conn = &gatherConn{Conn: conn, early: early}
	t.reader = bufio.NewReaderSize(t.conn, tapBuffer)
	return t.conn, bufio.NewReadWriter(t.reader, bufio.NewWriter(t.conn)), nil
}

// gatherConn holds what is written back while more is to come. One goroutine writes.
type gatherConn struct {
	net.Conn
	early     []byte // already read; owned by the reader
	gathering bool
	gathered  []byte
}

func (c *gatherConn) Read(b []byte) (int, error) {
	if len(c.early) > 0 {
		n := copy(b, c.early)
		c.early = c.early[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

// gatherBytes is when what is gathered is written although more is to come.
const gatherBytes = 64 << 10

func (c *gatherConn) Write(b []byte) (int, error) {
	if c.gathering && len(c.gathered) < gatherBytes {
		c.gathered = append(c.gathered, b...)
		return len(b), nil
	}
	if len(c.gathered) == 0 {
		return c.Conn.Write(b)
	}
	c.gathered = append(c.gathered, b...)
	_, err := c.Conn.Write(c.gathered)
	c.gathered = c.gathered[:0]
	return len(b), err
}
