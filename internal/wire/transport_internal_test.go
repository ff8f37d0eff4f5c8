package wire

import (
	"bytes"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"
)

// dated is a connection that records its last write deadline.
type dated struct {
	*net.TCPConn
	deadline time.Time
}

func (c *dated) SetWriteDeadline(t time.Time) error {
	c.deadline = t
	return c.TCPConn.SetWriteDeadline(t)
}

// tcp returns both ends of a connection, which ends with the test.
func tcp(t *testing.T) (near *dated, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if far, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &dated{TCPConn: conn.(*net.TCPConn)}, far
}

// While a frame is written in part, a control frame waits for its end, and no deadline is left
// behind.
func TestNothingWithinAFrame(t *testing.T) {
	if !directly {
		t.Skip("connections are written as package net does: a frame goes out in one piece")
	}
	near, far := tcp(t)
	c := newTransport(near, nil, time.Minute)
	text := bytes.Repeat([]byte("x"), 32<<20)
	frame := append(AppendFrameHead(nil, len(text)), text...)
	rest, err := c.TryWrite(frame)
	if err != nil || len(rest) == 0 {
		t.Fatalf("TryWrite left %d bytes, %v; expected some: nobody reads", len(rest), err)
	}
	got := make([]byte, len(frame)-len(rest))
	if _, err := io.ReadFull(far, got); err != nil {
		t.Fatal(err)
	}

	ping := []byte{finalBit | 0x09, 0}
	pinged := make(chan error, 1)
	go func() {
		_, err := c.Write(ping)
		pinged <- err
	}()
	for range 1000 { // now there is room for it
		runtime.Gosched()
	}
	finished := make(chan error, 1)
	go func() { finished <- c.FinishWrite(rest) }()
	more := make([]byte, len(rest)+len(ping))
	if _, err := io.ReadFull(far, more); err != nil {
		t.Fatal(err)
	}
	if err := <-finished; err != nil {
		t.Error(err)
	}
	if err := <-pinged; err != nil {
		t.Error(err)
	}
	if !bytes.Equal(append(got, more...), append(frame, ping...)) {
		t.Error("the ping did not go out behind the frame")
	}
	if !near.deadline.IsZero() {
		t.Errorf("the deadline %v is left for the next TryWrite", near.deadline)
	}
}

// Bytes that were read ahead are returned once and in order, for reads of any size, and no buffer
// is kept after the last.
func TestReadAhead(t *testing.T) {
	var group sync.WaitGroup
	for i := range byte(6) {
		near, far := tcp(t)
		group.Go(func() { readAhead(t, near, far, bytes.Repeat([]byte{'a' + i, 'A' + i, '0' + i}, 200_000)) })
	}
	group.Wait()
}

func readAhead(t *testing.T, near, far net.Conn, want []byte) {
	const early = 7
	c := newTransport(near, bytes.Clone(want[:early]), time.Minute)
	go func() {
		_, _ = far.Write(want[early:]) // the comparison below detects missing bytes
		far.Close()
	}()
	var got []byte
	b := make([]byte, aheadBytes+1)
	for size := 1; ; size = size*7%len(b) + 1 {
		n, err := c.Read(b[:size])
		got = append(got, b[:n]...)
		if err == io.ErrUnexpectedEOF {
			break
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes came that differ from the %d that were sent", len(got), len(want))
	}
	if c.ahead != nil || c.lent != nil {
		t.Error("a buffer is held behind the end")
	}
}
