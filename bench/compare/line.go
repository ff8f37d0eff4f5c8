package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// kind says what a message of a server is to the client.
type kind int

const (
	other  kind = iota
	answer      // to a request
	event       // an append or a published event
	end         // nothing more comes of what was asked for
	row         // of a table
	ping        // is answered at once
)

// message is the first of those that wait on a line.
type message struct {
	// size in bytes, head and all; 0: it has not come whole.
	size int
	kind kind
	// slot of an answer, that of the request; oldest: of the one that has waited longest.
	slot int
}

// oldest is the slot of answers that come in the order of the requests.
const oldest = -1

// line is the client side of a connection, the same for all servers. It examines messages in place
// and decodes only their kind. It must be used by one goroutine at a time.
type line struct {
	conn net.Conn
	buf  []byte // buf[from:to] was read and not used
	from int
	to   int

	// hear finds the first message in what was read. A refusal is an error.
	hear func(b []byte) (message, error)
	// pong appends the answer to a ping; nil: the server sends none.
	pong func(b, ping []byte) []byte
}

const (
	// lineBuffer is what a line begins with, and maxLineBuffer bounds one message.
	lineBuffer    = 8 << 10
	maxLineBuffer = 16 << 20
)

// dial connects to a server on this machine. Whatever takes longer than patience fails.
func dial(ctx context.Context, addr string, hear func(b []byte) (message, error)) (*line, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	l := &line{conn: conn, buf: make([]byte, lineBuffer), hear: hear}
	return l, l.patient()
}

// patience bounds how long a line is silent while something is expected.
const patience = 2 * time.Minute

// patient restarts the timeout of the server.
func (l *line) patient() error { return l.conn.SetDeadline(time.Now().Add(patience)) }

func (l *line) close() { l.conn.Close() }

func (l *line) write(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	_, err := l.conn.Write(b)
	return err
}

// read waits for more data.
func (l *line) read() error {
	if l.from == l.to {
		l.from, l.to = 0, 0
	}
	if l.to == len(l.buf) {
		l.makeRoom()
	}
	if l.to == len(l.buf) {
		return fmt.Errorf("a message of over %d bytes", maxLineBuffer)
	}
	n, err := l.conn.Read(l.buf[l.to:])
	l.to += n
	if n > 0 {
		return nil
	}
	return err
}

// makeRoom moves what was not used to the front, or into a buffer twice as large.
func (l *line) makeRoom() {
	to := l.buf
	if l.from == 0 && len(l.buf) < maxLineBuffer {
		to = make([]byte, 2*len(l.buf))
	}
	l.to = copy(to, l.buf[l.from:l.to])
	l.from, l.buf = 0, to
}

// whole returns the next message if it is complete, or one of size 0. It answers pings and skips
// them. The bytes are valid until the next read.
func (l *line) whole() (message, []byte, error) {
	for l.from < l.to {
		b := l.buf[l.from:l.to]
		m, err := l.hear(b)
		if err != nil {
			return message{}, nil, err
		}
		if m.size == 0 || m.size > len(b) {
			break
		}
		l.from += m.size
		if m.kind != ping {
			return m, b[:m.size], nil
		}
		if err := l.write(l.pong(nil, b[:m.size])); err != nil {
			return message{}, nil, err
		}
	}
	return message{}, nil, nil
}

// await returns the next message of a kind, and skips others before it.
func (l *line) await(k kind) ([]byte, error) {
	for {
		m, b, err := l.whole()
		switch {
		case err != nil:
			return nil, err
		case m.size == 0:
			if err := l.read(); err != nil {
				return nil, err
			}
		case m.kind == k:
			return b, nil
		}
	}
}

// ask makes one request and returns the complete answer.
func (l *line) ask(request []byte) ([]byte, error) {
	if err := l.write(request); err != nil {
		return nil, err
	}
	return l.await(answer)
}

// count reads n events, and says so if there are more.
func (l *line) count(n int) error {
	for {
		m, _, err := l.whole()
		switch {
		case err != nil:
			return err
		case m.kind == event:
			n--
		case m.size == 0 && n == 0:
			return nil
		case m.size == 0 && n < 0:
			return fmt.Errorf("%d events more than were published", -n)
		case m.size == 0:
			if err := l.read(); err != nil {
				return errors.Join(fmt.Errorf("%d events are missing", n), err)
			}
		}
	}
}

// countUntilEnd reads events until their end is announced.
func (l *line) countUntilEnd() (n int, err error) {
	for {
		m, _, err := l.whole()
		switch {
		case err != nil:
			return n, err
		case m.kind == event:
			n++
		case m.kind == end:
			return n, nil
		case m.size == 0:
			if err := l.read(); err != nil {
				return n, err
			}
		}
	}
}
