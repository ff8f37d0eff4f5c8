package bench

import (
	"fmt"
	"time"
)

// driven makes a side that sends events to the conversations that are waited for.
func (w *waiting) driven(sockets []*socket, pause time.Duration) *side {
	s := &side{target: w.target}
	for i, k := range sockets {
		d := &driver{socket: k, pause: pause, first: time.Duration(i) * pause / time.Duration(len(sockets))}
		for r := i; r < len(w.rooms); r += len(sockets) {
			d.rooms = append(d.rooms, w.rooms[r])
		}
		s.workers = append(s.workers, d)
	}
	return s
}

// alonely returns the same side for conversations without waiters.
func alonely(t Target, sockets []*socket, ids []string, pause time.Duration) *side {
	w := &waiting{target: t}
	for _, id := range ids {
		w.rooms = append(w.rooms, &room{id: id})
	}
	return w.driven(sockets, pause)
}

// called returns a side that appends to conversations without waiters, as alonely does. After each
// event, the connections that driven would have woken make a call that does not wait, and continue
// to wait. There are as many conversation ids as conversations with waiters.
func (w *waiting) called(sockets []*socket, ids []string, pause time.Duration) *side {
	s := w.driven(sockets, pause)
	for i, one := range s.workers {
		d := one.(*driver)
		for r := i; r < len(ids); r += len(sockets) {
			d.beside = append(d.beside, &room{id: ids[r]})
		}
	}
	return s
}

// driver sends an event after every pause, each to the next of its rooms, and waits until all who
// wait there have heard of it.
type driver struct {
	*socket
	pause  time.Duration
	first  time.Duration // until the first
	rooms  []*room
	beside []*room // nil, or where the events go instead, one for each of rooms, whose waiters then call

	n    int             // events
	told int             // events that were counted
	took []time.Duration // of each waiter, or of each event if there are no waiters
}

func (d *driver) work(end time.Time) error {
	if err := d.wake(); err != nil {
		return err
	}
	defer d.rest()
	next := time.Now().Add(d.first)
	for next.Before(end) {
		time.Sleep(time.Until(next))
		if err := d.event(d.n % len(d.rooms)); err != nil {
			return err
		}
		if next = next.Add(d.pause); next.Before(time.Now()) {
			next = time.Now() // a late sender does not catch up
		}
	}
	return nil
}

// event sends one to a room, or lets its waiters call.
func (d *driver) event(i int) error {
	d.n++
	r := d.rooms[i]
	if d.beside != nil {
		return d.calls(r, d.beside[i])
	}
	r.seq++
	start := r.begin()
	if err := d.post(r.id, d.n, 1, 500); err != nil {
		return err
	}
	if len(r.waiters) == 0 {
		d.took = append(d.took, time.Since(epoch)-start)
		return nil
	}
	return d.await(r)
}

// calls sends an event beside a room, and then a call of each of its waiters, which is answered at
// once.
func (d *driver) calls(r, beside *room) error {
	if err := d.post(beside.id, d.n, 1, 500); err != nil {
		return err
	}
	d.awaitChange(r.id, atOnceID, r.seq-1, 0)
	call := d.out
	d.out = d.out[:0]
	r.begin()
	for _, w := range r.waiters {
		if _, err := w.conn.Write(call); err != nil { // a whole frame, between those that the waiter writes
			return fmt.Errorf("a waiter: %w", err)
		}
	}
	return d.await(r)
}

// begin notes that all are to hear of something now.
func (r *room) begin() (start time.Duration) {
	start = time.Since(epoch)
	r.sent.Store(int64(start))
	r.awaited.Store(int32(len(r.waiters)))
	return start
}

// await waits until all have heard, and takes how long it took each.
func (d *driver) await(r *room) error {
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
		return fmt.Errorf("%w: %d waiters have not heard of an event, or have no answer", errPatience, r.awaited.Load())
	}
}

func (d *driver) taken() (int, []time.Duration) {
	n := d.n - d.told
	d.told = d.n
	_, took := take(&d.took)
	return n, took
}
