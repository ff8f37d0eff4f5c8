package executors

import (
	"context"
	"sync"
)

// capacity limits the turns that run concurrently. A turn that waits for a session that it started
// uses no capacity. It takes capacity again without waiting, so free may be negative for a moment.
type capacity struct {
	mu    sync.Mutex // guards the fields below
	free  int
	queue []chan struct{} // waiting turns in order; closed when the turn has capacity
}

func newCapacity(turns int) *capacity { return &capacity{free: turns} }

// acquire waits until there is capacity for a turn. If ctx ends before, it returns the cause.
func (r *capacity) acquire(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	mine := r.request()
	if mine == nil {
		return nil
	}
	select {
	case <-mine:
	case <-ctx.Done():
		r.cancel(mine)
		return context.Cause(ctx)
	}
	if ctx.Err() != nil { // both were ready
		r.release()
		return context.Cause(ctx)
	}
	return nil
}

// request takes capacity, or returns a position in the queue.
func (r *capacity) request() (mine chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.free > 0 { // the queue is empty
		r.free--
		return nil
	}
	mine = make(chan struct{})
	r.queue = append(r.queue, mine)
	return mine
}

// cancel removes a position from the queue. If it already has capacity, cancel releases it.
func (r *capacity) cancel(mine chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, c := range r.queue {
		if c == mine {
			r.queue = append(r.queue[:i], r.queue[i+1:]...)
			return
		}
	}
	r.releaseLocked()
}

// release releases capacity.
func (r *capacity) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.releaseLocked()
}

func (r *capacity) releaseLocked() {
	r.free++
	if r.free > 0 && len(r.queue) > 0 {
		r.free--
		close(r.queue[0])
		r.queue = r.queue[1:]
	}
}

// force takes capacity without waiting, even if none is free.
func (r *capacity) force() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free--
}
