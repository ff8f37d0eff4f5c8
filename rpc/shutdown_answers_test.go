package rpc_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/internal/wire"
)

// TestShutdownAnswersWhatIsUnderWay: a message that was accepted before the shutdown and is
// committed after its start is answered before the close frame, on every socket.
func TestShutdownAnswersWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sockets, each = 20, 5
		w := newWorld(t, nil)
		w.as("alice").create(openAlice)
		w.journal.Hold()
		peers, calls := make([]*peer, sockets), make([][]string, sockets)
		for i := range peers {
			peers[i] = w.as("alice")
			for n := range each {
				text := fmt.Sprintf(`{"conversationId":"case","payload":{"text":"%d of %d"},"finality":"none"}`, n, i)
				calls[i] = append(calls[i], peers[i].start(methods.SendMessage, text))
			}
		}
		synctest.Wait()
		ended := make(chan error, 1)
		go func() { ended <- w.server.Shutdown(t.Context()) }()
		synctest.Wait()
		w.journal.Release()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		lost := 0
		for i, p := range peers {
			<-p.done
			if code := p.closeCode(); code != wire.CloseGoingAway {
				t.Errorf("socket %d: close code %d, want %d", i, code, wire.CloseGoingAway)
			}
			lost += each - p.results(calls[i])
		}
		if lost > 0 {
			t.Errorf("%d of %d messages that were under way were not answered", lost, sockets*each)
		}
		promise.ID(18).Kept(t, promise.Tried{Faults: 1, Operations: sockets * each, Violations: lost})
	})
}

// results counts the calls that were answered with a result. The socket is closed.
func (p *peer) results(ids []string) (n int) {
	for _, frame := range p.take() {
		for _, id := range ids {
			if r := parseReply(p.t, frame); string(r.ID) == id && r.Error == nil {
				n++
			}
		}
	}
	return n
}
