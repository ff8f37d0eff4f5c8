package rpc

import (
	"context"
	"fmt"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc/internal/calls"
)

// The limits of the out-buffer of a socket, in bytes.
const (
	// Above outboxFull, everything that can wait waits.
	outboxFull = 256 << 10
	// Above outboxAhead, no page is added. So a peer that reads nothing costs little more than a page.
	outboxAhead = 48 << 10
	// outboxKept is the largest buffer that is used again.
	outboxKept = 64 << 10
	// outboxForExecutor bounds the notifications to an executor that are not written.
	outboxForExecutor = 256 << 10
)

// outBuffers has the buffers of sockets that have nothing to write.
var outBuffers = sync.Pool{New: func() any {
	b := make([]byte, 0, 1<<10)
	return &b
}}

func putBuffer(b *[]byte) {
	if cap(*b) <= outboxKept {
		*b = (*b)[:0]
		outBuffers.Put(b)
	}
}

// outbox has the frames that a socket must write, and the calls that are not answered. Adding a frame
// never blocks. While there are frames, one goroutine at a time writes all of them at once: a flusher
// of the server, or its own goroutine while it must wait for the peer.
type outbox struct {
	flushers *workerPool[*outbox]
	try      func(b []byte) (rest []byte, err error) // writes as much as possible without a wait
	write    func(b []byte) error                    // waits until the peer takes the rest
	sent     func(frames, bytes int)
	broken   func(err error) // called once, after a write has failed

	mu       sync.Mutex             // guards the fields below
	call     *calls.Call            // one that is not answered
	calls    map[string]*calls.Call // the others, by their ids; nil if there are no others
	b        *[]byte                // frames, one after the other; nil: none
	frames   int                    // number of frames in b
	heads    int                    // bytes of the heads of frames in b
	executor int                    // bytes in b that addForExecutor added
	taken    int                    // bytes taken from b that are being written
	flushing bool
	waiting  bool // the bytes taken from b wait for the peer
	ended    bool
	room     chan struct{} // closed when there may be room, and at the end; nil without waiters
	settle   chan struct{} // closed when all calls are answered and all frames written; nil without waiters
}

// beginCall registers a call.
func (o *outbox) beginCall(c *calls.Call) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.call == nil && o.calls == nil {
		o.call = c
		return nil
	}
	if _, busy := o.calls[c.ID]; busy || o.call != nil && o.call.ID == c.ID {
		return parley.Refuse(parley.ErrInvalidRequest, "a call with this id is still under way", "an id that is not in use")
	}
	if o.underWayLocked() >= limits.MaxInFlight {
		return &parley.Error{
			Err: parley.ErrRateLimited, RetryAfterMs: 100,
			Message: fmt.Sprintf("%d calls are under way on this socket", limits.MaxInFlight),
		}
	}
	if o.calls == nil {
		o.calls = make(map[string]*calls.Call)
	}
	o.calls[c.ID] = c
	return nil
}

func (o *outbox) underWayLocked() int {
	if o.call != nil {
		return 1 + len(o.calls)
	}
	return len(o.calls)
}

// finishCall adds the answer of a registered call. The first answer of a call counts.
func (o *outbox) finishCall(c *calls.Call, frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.call == c:
		o.call = nil
	case o.calls[c.ID] == c:
		if delete(o.calls, c.ID); len(o.calls) == 0 {
			o.calls = nil
		}
	default:
		return
	}
	o.addLocked(frame, nil)
	o.settleLocked()
}

// addFrame adds a frame of one or two parts.
func (o *outbox) addFrame(frame []byte, more ...byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.addLocked(frame, more)
}

// addForExecutor adds a notification that must not be left out, for a caller that cannot wait. It
// returns false if there is no room.
func (o *outbox) addForExecutor(frame []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.executor+len(frame) > outboxForExecutor {
		return false
	}
	o.executor += len(frame)
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
		o.flushers.submit(o)
	}
}

// waitForRoom waits while the out-buffer is full. With taken it also waits while bytes wait for the
// peer, or a page is being written.
func (o *outbox) waitForRoom(ctx context.Context, taken bool) error {
	for {
		room, err := o.checkRoom(taken)
		if room == nil {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// checkRoom returns a channel to wait for if the out-buffer is full.
func (o *outbox) checkRoom(taken bool) (<-chan struct{}, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return nil, calls.ErrSocketEnded
	}
	if !o.isFullLocked(taken) {
		return nil, nil
	}
	if o.room == nil {
		o.room = make(chan struct{})
	}
	return o.room, nil
}

func (o *outbox) isFullLocked(taken bool) bool {
	bytes := 0
	if o.b != nil {
		bytes = len(*o.b)
	}
	return bytes > outboxFull || taken && (o.waiting || bytes+o.taken > outboxAhead)
}

// hasRoom reports whether waitForRoom with taken would not wait.
func (o *outbox) hasRoom() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.ended && !o.isFullLocked(true)
}

// flush writes all frames once without a wait, and reports whether there are more by now. If the peer
// does not take all bytes at once, it starts a goroutine for the rest.
func (o *outbox) flush() (more bool) {
	b := o.takeBuffer()
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
		go o.writeRest(b, rest)
		return false
	}
	putBuffer(b)
	return o.continueFlush()
}

// writeRest writes until there are no frames left, and waits for the peer. rest is the end of b.
func (o *outbox) writeRest(b *[]byte, rest []byte) {
	for {
		if err := o.write(rest); err != nil {
			o.fail(err)
			return
		}
		putBuffer(b)
		if !o.continueFlush() {
			return
		}
		if b = o.takeBuffer(); b == nil {
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

// notifyRoomLocked wakes the waiters for room.
func (o *outbox) notifyRoomLocked() {
	if o.room != nil {
		close(o.room)
		o.room = nil
	}
}

// takeBuffer takes all frames. Without frames it ends the flush.
func (o *outbox) takeBuffer() *[]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.notifyRoomLocked()
	if o.b == nil || o.ended {
		o.flushing = false
		o.settleLocked()
		return nil
	}
	b := o.b
	o.sent(o.frames, len(*b)-o.heads)
	o.taken = len(*b)
	o.b, o.frames, o.heads, o.executor = nil, 0, 0, 0
	return b
}

// continueFlush reports whether there are more frames. Without more frames it ends the flush.
func (o *outbox) continueFlush() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting, o.taken = false, 0
	o.notifyRoomLocked()
	if o.b != nil && !o.ended {
		return true
	}
	o.flushing = false
	o.settleLocked()
	return false
}

// fail ends the outbox after a failed write. The goroutine that writes calls it.
func (o *outbox) fail(err error) {
	o.broken(err)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flushing = false
	o.endLocked()
}

// end discards the frames and waits for the goroutine that writes. Its write must fail soon.
func (o *outbox) end() {
	o.mu.Lock()
	o.endLocked()
	o.mu.Unlock()
	<-o.settled()
}

func (o *outbox) endLocked() {
	o.ended, o.b, o.call, o.calls = true, nil, nil, nil
	o.notifyRoomLocked()
	o.settleLocked()
}

// settled returns a channel that is closed when every call is answered and every frame written, or
// at the end of the socket.
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
