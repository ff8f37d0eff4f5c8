package bench

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parleyhub/parley/internal/limits"
)

// postAhead is how many calls post has under way.
const postAhead = limits.MaxInFlight

// post appends n messages to a conversation with one connection, as fast as possible, and waits for
// their acknowledgements. from is a prefix of their keys.
func (s *socket) post(conversation string, from, n, size int) error {
	text := strings.Repeat("x", size)
	sent, acked := 0, 0
	take := func(frame []byte) error {
		if !acknowledges(frame) {
			return fmt.Errorf("unexpected answer: %.300s", frame)
		}
		acked++
		return nil
	}
	ahead := max(1, min(postAhead, pipelinedBytes/size))
	for acked < n {
		for ; sent < n && sent-acked < ahead; sent++ {
			start := s.begin()
			s.out = fmt.Appendf(s.out, `{"jsonrpc":"2.0","id":%d,"method":"sendMessage","params":{"conversationId":"%s","payload":{"text":"%s"},"finality":"turn","clientRequestId":"p%d"}}`,
				from+sent, conversation, text, from+sent)
			s.end(start, opText)
		}
		if err := s.flush(); err != nil {
			return err
		}
		if err := s.read(take); err != nil {
			return err
		}
	}
	return nil
}

// order asks a bare server for frames, and waits for nothing.
func (s *socket) order(o Order) error {
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	start := s.begin()
	s.out = append(s.out, b...)
	s.end(start, opText)
	return s.flush()
}
