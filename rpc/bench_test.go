package rpc_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/wire"
)

// BenchmarkSendMessage has one message in flight on each of some connections, over the loopback
// interface, each in its own conversation. The journal is in memory, so it measures the server and
// the hub.
func BenchmarkSendMessage(b *testing.B) {
	for _, conns := range []int{1, 64} {
		b.Run(fmt.Sprintf("conns=%d", conns), func(b *testing.B) {
			w := newLoopbackWorld(b, nil)
			senders := make([]*sender, conns)
			for i := range senders {
				senders[i] = w.sender(i)
			}
			b.ReportAllocs()
			b.ResetTimer()
			var group sync.WaitGroup
			for i, s := range senders {
				n := b.N / conns
				if i < b.N%conns {
					n++
				}
				group.Go(func() { s.send(b, n) })
			}
			group.Wait()
			b.StopTimer()
		})
	}
}

// sender is a lean client: prepared frames, and replies that are only looked at.
type sender struct {
	stream *wire.Stream
	frame  []byte
	buf    []byte
}

func (w *world) sender(i int) *sender {
	w.t.Helper()
	p := w.as(fmt.Sprintf("agent-%d", i))
	id := p.create(fmt.Sprintf(`{"participants":[{"id":"agent-%d","kind":"peer"}],"policy":{"kind":"open"},`+
		`"limits":{"maxEvents":%d,"maxTurns":%d,"maxBytes":%d}}`,
		i, parley.MaxEventsLimit, limits.MaxTurnsLimit, parley.MaxBytesLimit))
	stream, err := wire.DialStream(context.Background(), w.url(), &wire.DialOptions{HTTPClient: w.client()})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { stream.Close() })
	s := &sender{stream: stream}
	s.frame = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"authenticate","params":{"token":%q,`+
		`"agentId":"agent-%d"}}`, devToken, i)
	s.send(w.t, 1)
	s.frame = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"sendMessage","params":{"conversationId":%q,`+
		`"payload":{"text":"%0400d"},"finality":"turn"}}`, id, 7)
	return s
}

func (s *sender) send(t testing.TB, n int) {
	for range n {
		if err := s.stream.WriteFrame(s.frame); err != nil {
			t.Error(err)
			return
		}
		var err error
		if s.buf, err = s.stream.ReadFrame(s.buf); err != nil {
			t.Error(err)
			return
		}
	}
	if string(s.buf[:min(len(s.buf), 26)]) != `{"jsonrpc":"2.0","id":1,"r` && n > 0 {
		t.Errorf("the reply is %s", s.buf)
	}
}
