package network

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
)

// stubborn is how long one message is tried, and a connection looked for, over restarts of the hub.
const stubborn = 5 * time.Minute

// retryPause is how long who has found no hub waits before the next attempt.
const retryPause = 20 * time.Millisecond

// born is when this process began: times inside of messages are counted from it.
var born = time.Now()

// writer says numbered messages in one conversation, each under its own key and until it is
// acknowledged, over any number of connections.
type writer struct {
	id, conversation string
	// size is the length of a text.
	size int
	// pace is the time from one message to the next; 0: as fast as can be.
	pace time.Duration

	acked      []int64 // the seq of message n
	unknown    int     // attempts with an unknown outcome
	duplicates int     // attempts that met the first one
	written    *atomic.Int64
}

// payload is message n. It has the time of sending, for readers in this process.
func (w *writer) payload(n int) json.RawMessage {
	text := fmt.Sprintf("%s-%d ", w.id, n)
	text += strings.Repeat("x", max(w.size-len(text), 0))
	return fmt.Appendf(nil, `{"text":%q,"data":{"sentNs":%d}}`, text, time.Since(born))
}

// work writes until stop is closed, or until most messages are acknowledged.
func (w *writer) work(url string, stop <-chan struct{}, most int) error {
	var p *peer
	defer func() {
		if p != nil {
			p.Close()
		}
	}()
	tick := time.NewTicker(max(w.pace, time.Nanosecond))
	defer tick.Stop()
	for len(w.acked) < most {
		select {
		case <-stop:
			return nil
		default:
		}
		if w.pace > 0 {
			<-tick.C
		}
		if err := w.say(url, &p); err != nil {
			return fmt.Errorf("%s: message %d: %w", w.id, len(w.acked), err)
		}
	}
	return nil
}

// say says the next message until it is acknowledged.
func (w *writer) say(url string, p **peer) error {
	n := len(w.acked)
	params := parley.SendMessageParams{
		ConversationID: w.conversation, Payload: w.payload(n), Finality: parley.FinalityTurn,
		ClientRequestID: fmt.Sprintf("%s-%d", w.id, n),
	}
	for deadline := time.Now().Add(stubborn); ; time.Sleep(retryPause) {
		r, err := w.try(url, p, &params)
		if err == nil {
			w.acked = append(w.acked, r.Seq)
			if r.Duplicate {
				w.duplicates++
			}
			if w.written != nil {
				w.written.Add(1)
			}
			return nil
		}
		if !passes(err) || time.Now().After(deadline) {
			return err
		}
	}
}

func (w *writer) try(url string, p **peer, params *parley.SendMessageParams) (r parley.SendResult, err error) {
	if *p == nil {
		if *p, err = dial(url, w.id, nil); err != nil {
			*p = nil
			return r, err
		}
	}
	if err = (*p).Call(methods.SendMessage, params, &r); errors.Is(err, hubproc.ErrGone) {
		(*p).Close()
		*p = nil
		w.unknown++
	} else if errors.Is(err, parley.ErrOutcomeUnknown) {
		w.unknown++
	}
	return r, err
}

// create makes a conversation in which all of these may speak at any time, and meet no limit.
func create(t *testing.T, url, id string, speakers ...string) {
	t.Helper()
	p, err := dial(url, "auditor", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	params := parley.CreateConversationParams{
		ConversationID: id,
		Policy:         &parley.Policy{Kind: parley.PolicyOpen},
		Limits:         &parley.Limits{MaxEvents: parley.MaxEventsLimit, MaxBytes: parley.MaxBytesLimit},
	}
	for _, s := range speakers {
		params.Participants = append(params.Participants, parley.Participant{ID: s, Kind: parley.KindAgent})
	}
	if err := p.Call(methods.CreateConversation, params, nil); err != nil {
		t.Fatal(err)
	}
}

// office is writers at work.
type office struct {
	t       *testing.T
	writers []*writer
	written atomic.Int64
	stop    chan struct{}
	wg      sync.WaitGroup
	failed  chan error
	closed  sync.Once
}

// employ runs writers until they are stopped, at the latest at the end of the test.
func employ(t *testing.T, url string, ws []*writer) *office {
	o := &office{t: t, writers: ws, stop: make(chan struct{}), failed: make(chan error, len(ws))}
	for _, w := range ws {
		w.written = &o.written
		o.wg.Go(func() {
			if err := w.work(url, o.stop, parley.MaxEventsLimit); err != nil {
				o.failed <- err
			}
		})
	}
	t.Cleanup(func() { o.closed.Do(func() { close(o.stop) }) })
	return o
}

// rest waits until each has the acknowledgement of its last message.
func (o *office) rest() {
	o.t.Helper()
	o.closed.Do(func() { close(o.stop) })
	o.wg.Wait()
	select {
	case err := <-o.failed:
		o.t.Fatal(err)
	default:
	}
}

// unknown returns the number of attempts with an unknown outcome.
func (o *office) unknown() (n int) {
	for _, w := range o.writers {
		n += w.unknown
	}
	return n
}

// audit compares the acknowledgements with the logs: each message is there once, in the order of
// sending, at the acknowledged seq. It returns the number of messages.
func (o *office) audit(logs map[string]*record) int {
	o.t.Helper()
	logged := map[string][]int64{}
	for _, l := range logs {
		for _, e := range l.events {
			if e.Type != parley.TypeMessage {
				continue
			}
			author := l.conversation + " " + e.From
			if want := fmt.Sprintf("%s-%d", e.From, len(logged[author])); e.ClientRequestID != want {
				o.t.Fatalf("%s: seq %d has key %s, expected %s: lost, doubled or out of order", l.conversation, e.Seq,
					e.ClientRequestID, want)
			}
			logged[author] = append(logged[author], e.Seq)
		}
	}
	total := 0
	for _, w := range o.writers {
		seqs := logged[w.conversation+" "+w.id]
		if len(seqs) != len(w.acked) {
			o.t.Fatalf("%s: %d messages acknowledged, %d in the log", w.id, len(w.acked), len(seqs))
		}
		for n, seq := range w.acked {
			if seqs[n] != seq {
				o.t.Fatalf("%s: message %d was acknowledged as seq %d and stands at %d", w.id, n, seq, seqs[n])
			}
		}
		total += len(w.acked)
	}
	return total
}
