package bench

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
)

// waiting are sockets that wait for changes of some conversations, each again when it was answered.
type waiting struct {
	target  Target
	rooms   []*room
	waiters []*waiter
	wg      sync.WaitGroup
	failed  atomic.Pointer[error]
}

// room is a conversation that is waited for, by as many waiters as all others.
type room struct {
	id      string
	waiters []*waiter
	seq     int64        // of the last event; of the driver at work
	sent    atomic.Int64 // when the event or the calls went out, in ns since epoch
	awaited atomic.Int32 // waiters that have not heard of it, or have no answer
	all     chan struct{}

	mu   sync.Mutex // guards the field below
	took []time.Duration
}

// waiter is one socket.
type waiter struct {
	*socket
	room *room
	of   *waiting
	seen int64 // seq
	take func([]byte) error
}

// epoch is what times are counted from.
var epoch = time.Now()

// newWaiting connects and lets all wait.
func newWaiting(ctx context.Context, t Target, ids []string, n int) (*waiting, error) {
	w := &waiting{target: t}
	for _, id := range ids {
		w.rooms = append(w.rooms, &room{id: id, seq: 1, all: make(chan struct{}, 1)})
	}
	sockets, err := dialAll(ctx, &t, "", n)
	if err != nil {
		return nil, err
	}
	for i, s := range sockets {
		one := &waiter{socket: s, room: w.rooms[i%len(ids)], of: w, seen: 1}
		one.take = one.answer
		one.room.waiters = append(one.room.waiters, one)
		w.waiters = append(w.waiters, one)
		if err := one.ask(); err != nil {
			closeSockets(sockets)
			return nil, err
		}
	}
	for _, one := range w.waiters {
		w.wg.Go(one.run)
	}
	return w, nil
}

// ask waits for the next change.
func (w *waiter) ask() error {
	w.n++
	w.awaitChange(w.room.id, int64(w.n), w.seen, parley.MaxWaitMs)
	return w.flush()
}

// awaitChange gathers a call.
func (s *socket) awaitChange(conversation string, id, since, timeoutMs int64) {
	start := s.begin()
	b := append(s.out, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, `,"method":"waitForChange","params":{"conversationId":"`...)
	b = append(b, conversation...)
	b = append(b, `","sinceSeq":`...)
	b = strconv.AppendInt(b, since, 10)
	b = append(b, `,"timeoutMs":`...)
	b = strconv.AppendInt(b, timeoutMs, 10)
	s.out = append(b, `}}`...)
	s.end(start, opText)
}

// atOnceID is the id of a call that does not wait, beside the one that does; those of a waiter
// begin with 1.
const atOnceID = 0

func (w *waiter) run() {
	for {
		if err := w.read(w.take); err != nil {
			w.of.failed.CompareAndSwap(nil, &err)
			return
		}
	}
}

var (
	latestMark   = []byte(`"latestSeq":`)
	timedOutMark = []byte(`"timedOut":true`)
)

// answer takes the answer to a wait, and waits again; or the one to a call that does not wait.
func (w *waiter) answer(frame []byte) error {
	latest := numberAfter(frame, latestMark)
	if !hasResult(frame) || latest < 0 {
		return fmt.Errorf("unexpected answer: %.300s", frame)
	}
	if answerID(frame) == atOnceID {
		if latest != w.seen {
			return fmt.Errorf("an event that was not sent: %.300s", frame)
		}
		w.room.heard()
		return nil
	}
	if !bytes.Contains(frame, timedOutMark) {
		if latest != w.seen+1 {
			return fmt.Errorf("an event was missed or repeated: %.300s", frame)
		}
		w.room.heard()
	}
	w.seen = latest
	return w.ask()
}

// heard notes that one waiter has heard of the event, or has its answer.
func (r *room) heard() {
	took := time.Since(epoch) - time.Duration(r.sent.Load())
	r.mu.Lock()
	r.took = append(r.took, took)
	r.mu.Unlock()
	if r.awaited.Add(-1) == 0 {
		r.all <- struct{}{}
	}
}

func (w *waiting) failure() error {
	if err := w.failed.Load(); err != nil {
		return fmt.Errorf("a waiter: %w", *err)
	}
	return nil
}

func (w *waiting) close() {
	for _, one := range w.waiters {
		one.socket.close()
	}
	w.wg.Wait()
}
