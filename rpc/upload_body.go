package rpc

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/parleyhub/parley"
)

// uploadRate is how many bytes a second a file must come with, over its whole time, besides Options.BodyTimeout. Any part of it must come
// within that timeout.
const uploadRate = 128 << 10

// readFile reads a file that is the body of p.
func (s *Server) readFile(p *post, r *http.Request) ([]byte, error) {
	size := r.ContentLength
	if size < 0 {
		size = parley.MaxAttachmentBytes
	}
	latest := time.Now().Add(s.opts.BodyTimeout + time.Duration(size)*time.Second/uploadRate)
	body := &steady{body: r.Body, renew: func() error { return s.renewBody(p, latest) }}
	data, err := readUpTo(body, r.ContentLength)
	switch {
	case err == nil:
		return data, s.bodyCame(p)
	case s.hasStopped():
		return nil, errStopping
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &statusError{http.StatusRequestTimeout, parley.Refuse(parley.ErrInvalidRequest, "the file did not come in time", "")}
	case errors.Is(err, parley.ErrTooLarge):
		return nil, err
	}
	return nil, parley.Refuse(parley.ErrInvalidRequest, "the file did not come whole", "")
}

// readUpTo reads a body of the length given, or, where that is negative, of up to MaxAttachmentBytes.
func readUpTo(body io.Reader, length int64) ([]byte, error) {
	if length >= 0 {
		data := make([]byte, length)
		_, err := io.ReadFull(body, data)
		return data, err
	}
	data, err := io.ReadAll(io.LimitReader(body, parley.MaxAttachmentBytes+1))
	if err == nil && len(data) > parley.MaxAttachmentBytes {
		return nil, parley.Refuse(parley.ErrTooLarge, "the file is too large", fmt.Sprintf("at most %d bytes", parley.MaxAttachmentBytes))
	}
	return data, err
}

// steady asks for more time before each read.
type steady struct {
	body  io.Reader
	renew func() error
}

func (r *steady) Read(b []byte) (int, error) {
	if err := r.renew(); err != nil {
		return 0, err
	}
	return r.body.Read(b)
}

// renewBody gives the body of p time for one more read, but never beyond latest, and none when the server stops.
func (s *Server) renewBody(p *post, latest time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errStopping
	}
	deadline := time.Now().Add(s.opts.BodyTimeout)
	if latest.Before(deadline) {
		deadline = latest
	}
	_ = p.http.SetReadDeadline(deadline) // fails where there are no deadlines
	return nil
}

func (s *Server) hasStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// bodyCame notes that all of the body of p is there.
func (s *Server) bodyCame(p *post) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped { // its connection may have been hurried: a call that began now might not be answered
		return errStopping
	}
	p.body = true
	_ = p.http.SetReadDeadline(time.Time{}) // the connection is watched while the call runs
	return nil
}
