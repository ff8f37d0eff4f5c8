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
	each    int
	sent    atomic.Int64 // when the event went out, in ns since epoch
	awaited atomic.Int32 // waiters that have not heard of it
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
		w.rooms = append(w.rooms, &room{id: id, each: n / len(ids), all: make(chan struct{}, 1)})
	}
	sockets, err := dialAll(ctx, &t, "", n)
	if err != nil {
		return nil, err
	}
	for i, s := range sockets {
		one := &waiter{socket: s, room: w.rooms[i%len(ids)], of: w, seen: 1}
		one.take = one.answer
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
	start := w.begin()
	b := append(w.out, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, int64(w.n), 10)
	b = append(b, `,"method":"waitForChange","params":{"conversationId":"`...)
	b = append(b, w.room.id...)
	b = append(b, `","sinceSeq":`...)
	b = strconv.AppendInt(b, w.seen, 10)
	b = append(b, `,"timeoutMs":`...)
	b = strconv.AppendInt(b, parley.MaxWaitMs, 10)
	w.out = append(b, `}}`...)
	w.end(start, opText)
	return w.flush()
}

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

// answer takes the answer to a wait, and waits again.
func (w *waiter) answer(frame []byte) error {
	latest := numberAfter(frame, latestMark)
	if !hasResult(frame) || latest < 0 {
		return fmt.Errorf("unexpected answer: %.300s", frame)
	}
	if !bytes.Contains(frame, timedOutMark) {
		if latest != w.seen+1 {
			return fmt.Errorf("an event was missed, or told twice: %.300s", frame)
		}
		w.room.heard()
	}
	w.seen = latest
	return w.ask()
}

// heard notes that one waiter has heard of the event.
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

// driven makes a side that sends events to the conversations that are waited for.
func (w *waiting) driven(sockets []*socket, pause time.Duration) *side {
	s := &side{target: w.target}
	for i, k := range sockets {
		d := &driver{socket: k, pause: pause, first: time.Duration(i) * pause / time.Duration(len(sockets)), name: loadName(i)}
		for r := i; r < len(w.rooms); r += len(sockets) {
			d.rooms = append(d.rooms, w.rooms[r])
		}
		s.workers = append(s.workers, d)
	}
	return s
}

// alonely makes the same for conversations that nobody waits for.
func alonely(t Target, sockets []*socket, ids []string, pause time.Duration) *side {
	w := &waiting{target: t}
	for _, id := range ids {
		w.rooms = append(w.rooms, &room{id: id})
	}
	return w.driven(sockets, pause)
}

// driver sends an event after every pause, each to the next of its rooms, and waits until all who wait there have heard of it.
type driver struct {
	*socket
	pause time.Duration
	first time.Duration // until the first
	rooms []*room
	name  string

	n    int             // events
	told int             // events that were counted
	took []time.Duration // of each waiter; where there are none, of each event
}

func (d *driver) work(end time.Time) error {
	if err := d.wake(); err != nil {
		return err
	}
	defer d.rest()
	next := time.Now().Add(d.first)
	for next.Before(end) {
		time.Sleep(time.Until(next))
		if err := d.event(d.rooms[d.n%len(d.rooms)]); err != nil {
			return err
		}
		if next = next.Add(d.pause); next.Before(time.Now()) {
			next = time.Now() // who is late does not hurry
		}
	}
	return nil
}

func (d *driver) event(r *room) error {
	d.n++
	start := time.Since(epoch)
	r.sent.Store(int64(start))
	r.awaited.Store(int32(r.each))
	if err := d.post(r.id, d.n, 1, 500); err != nil {
		return err
	}
	if r.each == 0 {
		d.took = append(d.took, time.Since(epoch)-start)
		return nil
	}
	if err := r.wait(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	d.took = append(d.took, r.took...)
	r.took = r.took[:0]
	return nil
}

// wait waits until all have heard.
func (r *room) wait() error {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-r.all:
		return nil
	case <-late.C:
		return fmt.Errorf("%w: %d waiters have not heard of an event", errPatience, r.awaited.Load())
	}
}

func (d *driver) taken() (int, []time.Duration) {
	n := d.n - d.told
	d.told = d.n
	_, took := take(&d.took)
	return n, took
}
