package memnet

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// half is one direction of a connection.
type half struct {
	mu      sync.Mutex // guards the fields below
	data    []byte
	ended   bool          // the writer is closed
	gone    bool          // the reader is closed
	changed chan struct{} // closed and replaced at every change
}

func newHalf() *half { return &half{changed: make(chan struct{})} }

func (h *half) changedLocked() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// read copies buffered bytes to p. If the buffer is empty, it returns a channel that is closed at
// the next change.
func (h *half) read(p []byte) (n int, wait <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.gone:
		return 0, nil, net.ErrClosed
	case len(h.data) > 0:
		n = copy(p, h.data)
		h.data = h.data[n:]
		if len(h.data) == 0 {
			h.data = nil
		}
		h.changedLocked()
		return n, nil, nil
	case h.ended:
		return 0, nil, io.EOF
	case len(p) == 0:
		return 0, nil, nil
	}
	return 0, h.changed, nil
}

// write appends as many bytes as fit. If the buffer is full, it returns a channel that is closed at
// the next change.
func (h *half) write(p []byte) (n int, wait <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return 0, nil, net.ErrClosed
	}
	if h.gone {
		return 0, nil, io.ErrClosedPipe
	}
	if n = min(len(p), Buffer-len(h.data)); n == 0 && len(p) > 0 {
		return 0, h.changed, nil
	}
	h.data = append(h.data, p[:n]...)
	h.changedLocked()
	return n, nil, nil
}

func (h *half) end(reader bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if reader {
		h.gone, h.data = true, nil
	} else {
		h.ended = true
	}
	h.changedLocked()
}

type conn struct {
	in, out                     *half
	readDeadline, writeDeadline *deadline
	turn                        chan struct{} // held during a Write
}

func newConn(in, out *half) *conn {
	return &conn{in: in, out: out, readDeadline: newDeadline(), writeDeadline: newDeadline(), turn: make(chan struct{}, 1)}
}

func (c *conn) Read(p []byte) (int, error) {
	for {
		expired, moved := c.readDeadline.now()
		select {
		case <-expired:
			return 0, os.ErrDeadlineExceeded
		default:
		}
		n, wait, err := c.in.read(p)
		if wait == nil {
			return n, err
		}
		select {
		case <-wait:
		case <-expired:
		case <-moved:
		}
	}
}

func (c *conn) Write(p []byte) (int, error) {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	total := 0
	for {
		expired, moved := c.writeDeadline.now()
		select {
		case <-expired:
			return total, os.ErrDeadlineExceeded
		default:
		}
		n, wait, err := c.out.write(p[total:])
		total += n
		if err != nil || total == len(p) {
			return total, err
		}
		if wait == nil {
			continue
		}
		select {
		case <-wait:
		case <-expired:
		case <-moved:
		}
	}
}

func (c *conn) Close() error {
	c.in.end(true)
	c.out.end(false)
	c.readDeadline.stop()
	c.writeDeadline.stop()
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return Addr{} }
func (c *conn) RemoteAddr() net.Addr { return Addr{} }

func (c *conn) SetDeadline(t time.Time) error {
	c.readDeadline.set(t)
	c.writeDeadline.set(t)
	return nil
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.readDeadline.set(t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.writeDeadline.set(t)
	return nil
}

// deadline is a time that can be moved.
type deadline struct {
	mu    sync.Mutex // guards the fields below
	timer *time.Timer
	past  chan struct{} // closed at the deadline
	move  chan struct{} // closed and replaced when it is moved
}

func newDeadline() *deadline {
	return &deadline{past: make(chan struct{}), move: make(chan struct{})}
}

// now returns a channel that is closed at the current deadline, and one that is closed when the
// deadline moves. Both belong to the same deadline, so that a waiter misses no move.
func (d *deadline) now() (expired, moved <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.past, d.move
}

func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	past := make(chan struct{})
	d.past = past
	close(d.move)
	d.move = make(chan struct{})
	if t.IsZero() {
		return
	}
	if wait := time.Until(t); wait > 0 {
		d.timer = time.AfterFunc(wait, func() { close(past) })
	} else {
		close(past)
	}
}
