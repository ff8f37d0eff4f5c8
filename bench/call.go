package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// call makes one call and returns the frame of its answer. It drops other frames, and returns a
// refusal as an error.
func (s *socket) call(method string, params any) ([]byte, error) {
	return s.callAside(method, params, func([]byte) {})
}

// callAside is call, and passes other frames of the same reads to aside.
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

// rest reads from an idle socket, because a hub closes connections that do not answer its pings. It
// drops other frames. Call wake before the next use of the socket.
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
	s.conn.SetReadDeadline(time.Now()) // if it fails, the socket is closed, and rest ends by itself
	err := <-s.resting
	s.resting = nil
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return s.conn.SetReadDeadline(time.Time{})
}
