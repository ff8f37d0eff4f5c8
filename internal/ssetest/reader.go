// Package ssetest reads text/event-stream in tests, as the HTML standard defines it (section 9.2,
// server-sent events). The hub only writes streams, with package sse.
//
//	r := ssetest.NewReader(response.Body, 1<<20)
//	m, err := r.Next()
package ssetest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/parleyhub/parley/internal/sse"
)

// Reader reads a stream. It is for one goroutine.
type Reader struct {
	r     *bufio.Reader
	most  int
	begun bool
	cr    bool // the last line ended with a carriage return: a line feed that follows belongs to it
	line  []byte

	id, name string // id is that of the message to come
	last     string // id of the last message that was whole
	data     []byte
	some     bool // data has a line, perhaps an empty one
}

// NewReader reads r. A message, and any single line, may have at most most bytes.
func NewReader(r io.Reader, most int) *Reader {
	return &Reader{r: bufio.NewReader(r), most: most}
}

// Next returns the next message that has data. Its Data is valid until the next call. It does not
// return a message that is cut off. The error is bufio.ErrTooLong, or the one of the underlying reader.
func (r *Reader) Next() (sse.Message, error) {
	r.name, r.data, r.some = "", r.data[:0], false
	for {
		line, err := r.readLine()
		if err != nil {
			return sse.Message{}, err
		}
		if len(line) > 0 {
			if err := r.field(line); err != nil {
				return sse.Message{}, err
			}
			continue
		}
		r.last = r.id
		if r.some {
			return sse.Message{ID: r.id, Name: r.name, Data: r.data}, nil
		}
		r.name = ""
	}
}

// LastID returns the id of the last complete message, with data or without: the Last-Event-ID for the
// next connection.
func (r *Reader) LastID() string { return r.last }

// field takes one line that is not empty.
func (r *Reader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(name) {
	case "data":
		if r.some {
			r.data = append(r.data, '\n')
		}
		r.data, r.some = append(r.data, value...), true
		if len(r.data) > r.most {
			return fmt.Errorf("%w: over %d bytes", bufio.ErrTooLong, r.most)
		}
	case "event":
		r.name = string(value)
	case "id":
		if !bytes.ContainsRune(value, 0) {
			r.id = string(value)
		}
	}
	return nil
}

var byteOrderMark = []byte("\ufeff")

// readLine returns a line without its end, which is CR, LF, or both. It is valid until the next call.
func (r *Reader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		c, err := r.r.ReadByte()
		if err != nil {
			return nil, err
		}
		if c == '\n' && r.cr && len(r.line) == 0 {
			r.cr = false
			continue
		}
		r.cr = c == '\r'
		if c == '\n' || c == '\r' {
			break
		}
		if len(r.line) >= r.most+len("data: ") {
			return nil, fmt.Errorf("%w: a line of over %d bytes", bufio.ErrTooLong, r.most)
		}
		r.line = append(r.line, c)
	}
	if !r.begun {
		r.begun = true
		return bytes.TrimPrefix(r.line, byteOrderMark), nil
	}
	return r.line, nil
}
