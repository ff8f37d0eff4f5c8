package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"syscall"
)

// socket is the client's end of a WebSocket, made for measuring: it takes as little of the
// processors as can be, so that what is measured is the server. Frames are gathered and written
// together; a read takes all that is there, into a buffer that is lent for as long as it is looked
// at. One goroutine at a time uses it.
type socket struct {
	conn net.Conn
	raw  syscall.RawConn // nil: the socket is not the kernel's own, as under TLS

	key  [4]byte
	mask uint64 // key twice
	out  []byte // frames to be written
	left []byte // the beginning of a frame whose end has not come

	large []byte // the buffer of a socket with large frames, else nil

	n       int        // of calls
	resting chan error // nil, or gets the error that ends a rest
	ready   func(fd uintptr) bool
	lent    *[]byte // while it is read
	got     int     // bytes in lent
	err     error   // of the read
}

// lendBytes is the size of the buffers that are lent.
const lendBytes = 64 << 10

var lending = sync.Pool{New: func() any {
	b := make([]byte, lendBytes)
	return &b
}}

func newSocket(conn net.Conn, early []byte) *socket {
	s := &socket{conn: conn, left: early}
	binary.LittleEndian.PutUint32(s.key[:], rand.Uint32())
	half := uint64(binary.LittleEndian.Uint32(s.key[:]))
	s.mask = half<<32 | half
	s.ready, s.raw = s.readReady, rawOf(conn)
	return s
}

func (s *socket) close() {
	if s != nil {
		s.conn.Close()
	}
}

// Opcodes of RFC 6455.
const (
	opText  = 1
	opClose = 8
	opPing  = 9
	opPong  = 10
)

// usualHead is the length of the head of a frame from a client that has 126 to 65535 bytes.
const usualHead = 8

// begin gathers a frame: its text is appended to s.out, and then end is called with what begin
// gave.
func (s *socket) begin() (start int) {
	start = len(s.out)
	var room [usualHead]byte
	s.out = append(s.out, room[:]...)
	return start
}

// end makes a frame of what was appended since begin.
func (s *socket) end(start int, op byte) {
	payload := s.out[start+usualHead:]
	s.hide(payload)
	var room [14]byte
	head := s.head(room[:2], op, len(payload))
	if len(head) != usualHead {
		s.out = slices.Replace(s.out, start, start+usualHead, head...)
		return
	}
	copy(s.out[start:], head)
}

// head makes the head of a frame of n bytes in b, which has 2.
func (s *socket) head(b []byte, op byte, n int) []byte {
	b[0] = 0x80 | op
	switch {
	case n < 126:
		b[1] = 0x80 | byte(n)
	case n < 1<<16:
		b[1] = 0x80 | 126
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	default:
		b[1] = 0x80 | 127
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return append(b, s.key[:]...)
}

// hide does with b what RFC 6455 asks of a client.
func (s *socket) hide(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^s.mask)
	}
	for i := range b {
		b[i] ^= s.key[i%4]
	}
}

// flush writes what was gathered.
func (s *socket) flush() error {
	if len(s.out) == 0 {
		return nil
	}
	_, err := s.conn.Write(s.out)
	s.out = s.out[:0]
	return err
}

// read waits for data and passes each complete frame to f. f must not keep any of it. f may queue
// frames, but not flush them.
func (s *socket) read(f func(payload []byte) error) error {
	err := s.receive()
	if s.lent == nil {
		return err
	}
	if err == nil {
		var rest []byte
		if rest, err = s.parse((*s.lent)[:s.got], f); err == nil {
			s.keep(rest)
		}
	}
	s.giveBack()
	return err
}

// receive borrows a buffer and reads into it, behind what is left of the read before.
func (s *socket) receive() error {
	if s.raw == nil {
		s.borrow()
		n, err := s.conn.Read((*s.lent)[s.got:])
		s.got += n
		if n > 0 {
			return nil
		}
		return err
	}
	s.err = nil
	if err := s.raw.Read(s.ready); err != nil {
		return err
	}
	return s.err
}

// readReady is called when the kernel may have data. It returns false to be called again.
func (s *socket) readReady(fd uintptr) bool {
	s.borrow()
	n, err := readFD(fd, (*s.lent)[s.got:])
	switch {
	case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR):
		s.giveBack()
		return false
	case err != nil:
		s.err = err
	case n == 0:
		s.err = io.ErrUnexpectedEOF
	}
	s.got += max(0, n)
	return true
}

// borrow returns a buffer that starts with the rest of the last read.
func (s *socket) borrow() {
	if s.large != nil {
		s.lent, s.got = &s.large, len(s.left)
		return
	}
	s.lent = lending.Get().(*[]byte)
	s.got = copy(*s.lent, s.left)
}

func (s *socket) giveBack() {
	if s.lent != nil && s.lent != &s.large {
		lending.Put(s.lent)
	}
	s.lent = nil
}

// keep stores the rest of a read. A socket that receives frames of about the size of a shared
// buffer gets its own buffer from then on, which starts with the rest.
func (s *socket) keep(rest []byte) {
	need := frameBytes(rest)
	switch {
	case need+usualHead > lendBytes && need+lendBytes > len(s.large):
		larger := make([]byte, need+lendBytes)
		s.left = larger[:copy(larger, rest)]
		s.large = larger
	case s.large != nil:
		s.left = s.large[:copy(s.large, rest)] // which moves nothing while the frame grows
	default:
		s.left = append(s.left[:0], rest...)
	}
}

// parse passes each complete frame of b to f, and returns the rest.
func (s *socket) parse(b []byte, f func(payload []byte) error) ([]byte, error) {
	for {
		op, payload, rest, ok := cutFrame(b)
		if !ok {
			return b, nil
		}
		b = rest
		var err error
		switch op {
		case 0x80 | opText:
			err = f(payload)
		case 0x80 | opPing:
			err = s.pong(payload)
		case 0x80 | opPong:
		case 0x80 | opClose:
			err = closed(payload)
		default:
			err = fmt.Errorf("a frame that begins with %#x: expected whole text frames", op)
		}
		if err != nil {
			return nil, err
		}
	}
}

// frameBytes returns the length of the frame at the start of b, or 0 if it is not known yet.
func frameBytes(b []byte) int {
	at, n := frameHead(b)
	return at + int(n)
}

// frameHead reads the length of the head and of the text of the frame that b begins with, 0 and 0
// if the head is not there yet. Frames from a server are not masked.
func frameHead(b []byte) (at int, n uint64) {
	if len(b) < 2 {
		return 0, 0
	}
	n, at = uint64(b[1]), 2
	switch n {
	case 126:
		at = 4
	case 127:
		at = 10
	}
	if len(b) < at {
		return 0, 0
	}
	switch at {
	case 4:
		n = uint64(binary.BigEndian.Uint16(b[2:]))
	case 10:
		n = binary.BigEndian.Uint64(b[2:])
	}
	return at, n
}

// cutFrame cuts the first frame off b.
func cutFrame(b []byte) (first byte, payload, rest []byte, ok bool) {
	at, n := frameHead(b)
	if at == 0 || uint64(len(b)-at) < n {
		return 0, nil, nil, false
	}
	return b[0], b[at : at+int(n)], b[at+int(n):], true
}

// pong answers a ping at once: the hub closes connections that do not answer.
func (s *socket) pong(payload []byte) error {
	gathered := s.out
	s.out = nil
	start := s.begin()
	s.out = append(s.out, payload...)
	s.end(start, opPong)
	err := s.flush()
	s.out = gathered
	return err
}

func closed(payload []byte) error {
	if len(payload) < 2 {
		return errors.New("the server has closed the connection")
	}
	return fmt.Errorf("the server has closed the connection: %d %s", binary.BigEndian.Uint16(payload), payload[2:])
}
