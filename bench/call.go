package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// call makes one call and waits for its answer, of which it gives the frame. Other frames are dropped. A refusal is an error.
func (s *socket) call(method string, params any) ([]byte, error) {
	return s.callAside(method, params, func([]byte) {})
}

// callAside is call, and gives the other frames that came in the same reads to aside.
func (s *socket) callAside(method string, params any, aside func(frame []byte)) ([]byte, error) {
	encoded, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	s.n++
	id := fmt.Sprintf(`"id":"c%d"`, s.n)
	start := s.begin()
	s.out = fmt.Appendf(s.out, `{"jsonrpc":"2.0",%s,"method":"%s","params":%s}`, id, method, encoded)
	s.end(start, opText)
	if err := s.flush(); err != nil {
		return nil, err
	}
	var answer []byte
	for answer == nil {
		err := s.read(func(frame []byte) error {
			if hasID(frame, id) {
				answer = append([]byte(nil), frame...)
			} else {
				aside(frame)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
	}
	if !hasResult(answer) {
		return nil, fmt.Errorf("%s: %.300s", method, answer)
	}
	return answer, nil
}

// rest has a socket that nobody uses read, since a hub ends connections that do not answer its pings. What else comes is dropped. After it
// wake must be called before the socket is used.
func (s *socket) rest() {
	s.resting = make(chan error, 1)
	go func() {
		for {
			if err := s.read(func([]byte) error { return nil }); err != nil {
				s.resting <- err
				return
			}
		}
	}()
}

// wake ends a rest, if there is one.
func (s *socket) wake() error {
	if s.resting == nil {
		return nil
	}
	s.conn.SetReadDeadline(time.Now()) // where it fails the socket is closed, and the rest has ended by itself
	err := <-s.resting
	s.resting = nil
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return s.conn.SetReadDeadline(time.Time{})
}
