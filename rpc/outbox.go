package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/parleyhub/parley"
)

// The out-buffer of a socket.
const (
	// outboxFull is the number of bytes above which whoever can wait does.
	outboxFull = 256 << 10
	// outboxKept is the largest buffer that a flusher uses again, and outboxAtRest the largest that a socket at rest keeps.
	outboxKept   = 64 << 10
	outboxAtRest = 512
	// outboxTold is the number of bytes of notifications to an executor that wait to be written.
	outboxTold = 256 << 10
)

var errSocketEnded = errors.New("the socket has ended")

// outbox holds what goes out on a socket, and knows the calls that are not answered. Adding never blocks. A flusher runs
// while there is something to write, and takes everything that is there at once.
type outbox struct {
	write  func(b []byte, ends []int) error
	broken func(err error) // called once, when write has failed

	mu       sync.Mutex // guards the fields below
	calls    map[string]*call
	b        []byte // frames, one behind the other
	ends     []int  // where each ends
	told     int    // bytes in b that tell added
	flushing bool
	ended    bool
	wait     chan struct{} // closed at the next flush and at the end; nil while nobody waits
	settle   chan struct{} // closed when all is answered and written; nil while nobody waits
}

// begin registers a call.
func (o *outbox) begin(c *call) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, busy := o.calls[string(c.id)]; busy {
		return parley.Refuse(parley.ErrInvalidRequest, "a call with this id is still under way", "an id that is not in use")
	}
	if len(o.calls) >= parley.MaxInFlight {
		return &parley.Error{
			Err: parley.ErrRateLimited, Message: fmt.Sprintf("%d calls are under way on this socket", parley.MaxInFlight), RetryAfterMs: 100,
		}
	}
	if o.calls == nil {
		o.calls = make(map[string]*call, 1)
	}
	o.calls[string(c.id)] = c
	return nil
}

// finish adds the reply of a call that begin registered; the first reply counts.
func (o *outbox) finish(c *call, frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.calls[string(c.id)] != c {
		return
	}
	delete(o.calls, string(c.id))
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
	o.b = append(append(o.b, frame...), more...)
	o.ends = append(o.ends, len(o.b))
	if !o.flushing {
		o.flushing = true
		go o.flush()
	}
}

// room waits while the out-buffer is full.
func (o *outbox) room(ctx context.Context) error {
	for {
		wait, err := o.fullness()
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
func (o *outbox) fullness() (<-chan struct{}, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return nil, errSocketEnded
	}
	if len(o.b) <= outboxFull {
		return nil, nil
	}
	if o.wait == nil {
		o.wait = make(chan struct{})
	}
	return o.wait, nil
}

// flush writes until there is nothing left.
func (o *outbox) flush() {
	var b []byte
	var ends []int
	for {
		var more bool
		if b, ends, more = o.take(b, ends); !more {
			return
		}
		if err := o.write(b, ends); err != nil {
			o.broken(err)
			o.fail()
			return
		}
	}
}

// take swaps what is to be written for buffers that are done with. When there is nothing the flusher has ended.
func (o *outbox) take(b []byte, ends []int) ([]byte, []int, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.wait != nil {
		close(o.wait)
		o.wait = nil
	}
	outB, outEnds := o.b, o.ends
	more := len(outEnds) > 0 && !o.ended
	keep := outboxKept
	if !more {
		keep = outboxAtRest
	}
	o.b, o.ends, o.told = nil, nil, 0
	if cap(b) <= keep && !o.ended {
		o.b, o.ends = b[:0], ends[:0]
	}
	if !more {
		o.flushing = false
		o.settleLocked()
	}
	return outB, outEnds, more
}

// fail ends the outbox from the flusher.
func (o *outbox) fail() {
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
	o.ended, o.b, o.ends, o.calls = true, nil, nil, nil
	if o.wait != nil {
		close(o.wait)
		o.wait = nil
	}
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
	if o.settle != nil && len(o.calls) == 0 && len(o.ends) == 0 && !o.flushing {
		close(o.settle)
		o.settle = nil
	}
}
