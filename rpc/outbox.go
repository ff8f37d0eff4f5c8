package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
)

// The out-buffer of a socket.
const (
	// outboxFull is the number of bytes above which whoever can wait does.
	outboxFull = 256 << 10
	// outboxAhead is the number of bytes above which no page is added: so a peer that stops taking holds little more than one.
	outboxAhead = 48 << 10
	// outboxKept is the largest buffer that is used again.
	outboxKept = 64 << 10
	// outboxTold is the number of bytes of notifications to an executor that wait to be written.
	outboxTold = 256 << 10
)

// outBuffers are lent to sockets that have something to write. One at rest holds none.
var outBuffers = sync.Pool{New: func() any {
	b := make([]byte, 0, 1<<10)
	return &b
}}

func giveBuffer(b *[]byte) {
	if cap(*b) <= outboxKept {
		*b = (*b)[:0]
		outBuffers.Put(b)
	}
}

var errSocketEnded = errors.New("the socket has ended")

// outbox holds what goes out on a socket, and knows the calls that are not answered. Adding never blocks. While there is something to write, one goroutine at a
// time takes everything that is there at once: one of the server's flushers, as long as nothing has to wait for the peer, else one of its own.
type outbox struct {
	flushers *crew[*outbox]
	try      func(b []byte) (rest []byte, err error) // writes what goes without waiting
	write    func(b []byte) error                    // waits until the peer takes the rest
	sent     func(frames, bytes int)
	broken   func(err error) // called once, when a write has failed

	mu       sync.Mutex       // guards the fields below
	call     *call            // one that is not answered
	calls    map[string]*call // the others, by their ids; nil while there are none
	b        *[]byte          // frames, one behind the other; nil: none
	frames   int              // in b
	heads    int              // bytes in b that are heads of frames
	told     int              // bytes in b that tell added
	taken    int              // bytes out of b that are being written
	flushing bool
	waiting  bool // what was taken out of b waits for the peer
	ended    bool
	wait     chan struct{} // closed when there may be room, and at the end; nil while nobody waits
	settle   chan struct{} // closed when all is answered and written; nil while nobody waits
}

// begin registers a call.
func (o *outbox) begin(c *call) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.call == nil && o.calls == nil {
		o.call = c
		return nil
	}
	if _, busy := o.calls[c.id]; busy || o.call != nil && o.call.id == c.id {
		return parley.Refuse(parley.ErrInvalidRequest, "a call with this id is still under way", "an id that is not in use")
	}
	if o.underWayLocked() >= parley.MaxInFlight {
		return &parley.Error{
			Err: parley.ErrRateLimited, Message: fmt.Sprintf("%d calls are under way on this socket", parley.MaxInFlight), RetryAfterMs: 100,
		}
	}
	if o.calls == nil {
		o.calls = make(map[string]*call)
	}
	o.calls[c.id] = c
	return nil
}

func (o *outbox) underWayLocked() int {
	if o.call != nil {
		return 1 + len(o.calls)
	}
	return len(o.calls)
}

// finish adds the reply of a call that begin registered; the first reply counts.
func (o *outbox) finish(c *call, frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.call == c:
		o.call = nil
	case o.calls[c.id] == c:
		if delete(o.calls, c.id); len(o.calls) == 0 {
			o.calls = nil
		}
	default:
		return
	}
	o.addLocked(frame, nil)
	o.settleLocked()
}

// add adds a frame, given in one or two parts.
func (o *outbox) add(frame []byte, more ...byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.addLocked(frame, more)
}

// tell adds a notification that must not be left out, and has nobody who could wait. It reports false when there is no room for it.
func (o *outbox) tell(frame []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.told+len(frame) > outboxTold {
		return false
	}
	o.told += len(frame)
	o.addLocked(frame, nil)
	return true
}

func (o *outbox) addLocked(frame, more []byte) {
	if o.ended {
		return
	}
	if o.b == nil {
		o.b = outBuffers.Get().(*[]byte)
	}
	before := len(*o.b)
	b := wire.AppendFrameHead(*o.b, len(frame)+len(more))
	o.heads += len(b) - before
	*o.b = append(append(b, frame...), more...)
	o.frames++
	if !o.flushing {
		o.flushing = true
		o.flushers.add(o)
	}
}

// room waits while the out-buffer is full, and, with taken, while anything waits for the peer or there is a page on its way.
func (o *outbox) room(ctx context.Context, taken bool) error {
	for {
		wait, err := o.fullness(taken)
		if wait == nil {
			return err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// fullness gives a channel to wait on when the out-buffer is full.
func (o *outbox) fullness(taken bool) (<-chan struct{}, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return nil, errSocketEnded
	}
	if !o.fullLocked(taken) {
		return nil, nil
	}
	if o.wait == nil {
		o.wait = make(chan struct{})
	}
	return o.wait, nil
}

func (o *outbox) fullLocked(taken bool) bool {
	bytes := 0
	if o.b != nil {
		bytes = len(*o.b)
	}
	return bytes > outboxFull || taken && (o.waiting || bytes+o.taken > outboxAhead)
}

// roomNow reports whether room would not wait for what is taken.
func (o *outbox) roomNow() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.ended && !o.fullLocked(true)
}

// flush writes what there is, once, without waiting, and reports whether there is more by now. What the peer does not take at once is written on a goroutine of
// its own.
func (o *outbox) flush() (more bool) {
	b := o.take()
	if b == nil {
		return false
	}
	rest, err := o.try(*b)
	if err != nil {
		o.fail(err)
		return false
	}
	if len(rest) > 0 {
		o.setWaiting()
		go o.waitFor(b, rest)
		return false
	}
	giveBuffer(b)
	return o.goesOn()
}

// waitFor writes until there is nothing left, and waits for the peer. rest is the end of b.
func (o *outbox) waitFor(b *[]byte, rest []byte) {
	for {
		if err := o.write(rest); err != nil {
			o.fail(err)
			return
		}
		giveBuffer(b)
		if !o.goesOn() {
			return
		}
		if b = o.take(); b == nil {
			return
		}
		o.setWaiting()
		rest = *b
	}
}

func (o *outbox) setWaiting() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = true
}

// roomLocked wakes those that wait for room.
func (o *outbox) roomLocked() {
	if o.wait != nil {
		close(o.wait)
		o.wait = nil
	}
}

// take takes what is to be written. When that is nothing, the flushing has ended.
func (o *outbox) take() *[]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.roomLocked()
	if o.b == nil || o.ended {
		o.flushing = false
		o.settleLocked()
		return nil
	}
	b := o.b
	o.sent(o.frames, len(*b)-o.heads)
	o.taken = len(*b)
	o.b, o.frames, o.heads, o.told = nil, 0, 0, 0
	return b
}

// goesOn reports whether there is more to write. When there is nothing, the flushing has ended.
func (o *outbox) goesOn() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting, o.taken = false, 0
	o.roomLocked()
	if o.b != nil && !o.ended {
		return true
	}
	o.flushing = false
	o.settleLocked()
	return false
}

// fail ends the outbox from the flusher.
func (o *outbox) fail(err error) {
	o.broken(err)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flushing = false
	o.endLocked()
}

// end throws away what is not written and waits for the flusher. Its write must have been made to fail.
func (o *outbox) end() {
	o.mu.Lock()
	o.endLocked()
	o.mu.Unlock()
	<-o.settled()
}

func (o *outbox) endLocked() {
	o.ended, o.b, o.call, o.calls = true, nil, nil, nil
	o.roomLocked()
	o.settleLocked()
}

// settled is closed when every call is answered and everything is written, or the socket has ended.
func (o *outbox) settled() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.settle == nil {
		o.settle = make(chan struct{})
	}
	settle := o.settle
	o.settleLocked()
	return settle
}

func (o *outbox) settleLocked() {
	if o.settle != nil && o.underWayLocked() == 0 && o.b == nil && !o.flushing {
		close(o.settle)
		o.settle = nil
	}
}
