package rpc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc"
)

// TestSlowReaders: over real connections, readers that pause for a while, and readers that ping
// meanwhile, get every event once and in order.
func TestSlowReaders(t *testing.T) {
	const readers, messages = 6, 600
	w := newLoopbackWorld(t, &rpc.Options{WriteTimeout: 5 * time.Minute, PingAfter: time.Hour}) // no peer is disconnected
	alice := w.as("alice")
	alice.create(`{"conversationId":"c","participants":[{"id":"alice","kind":"peer"}],"policy":{"kind":"open"}}`)
	sent := make(chan struct{})
	var group sync.WaitGroup
	for i := range readers {
		s, err := wire.DialStream(t.Context(), w.url(), &wire.DialOptions{Header: bearer(devToken)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.WriteFrame([]byte(
			`{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"conversationId":"c","sinceSeq":0}}`)); err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			defer s.Close()
			if i%3 == 0 {
				<-sent
			}
			for seq := int64(1); seq <= messages+1; seq++ {
				if got, err := nextEvent(s); err != nil || got != seq {
					t.Errorf("reader %d got event %d, %v; expected %d", i, got, err, seq)
					return
				}
				if i%3 == 1 && seq%20 == 0 {
					group.Go(func() { _ = s.Ping(t.Context()) }) // the socket may be closed
				}
			}
		})
	}
	for i := range messages {
		alice.must(methods.SendMessage, fmt.Sprintf(`{"conversationId":"c","payload":{"text":%q},"finality":"turn"}`,
			strings.Repeat("x", 1+i*37%40_000)))
	}
	close(sent)
	group.Wait()
}

// nextEvent returns the seq of the next event of a subscription.
func nextEvent(s *wire.Stream) (seq int64, err error) {
	for {
		frame, err := s.ReadFrame(nil)
		if err != nil {
			return 0, err
		}
		var n struct {
			Method string
			Params struct{ Event struct{ Seq int64 } }
		}
		if err := json.Unmarshal(frame, &n); err != nil || n.Method == methods.NotifyEvent {
			return n.Params.Event.Seq, err
		}
	}
}
