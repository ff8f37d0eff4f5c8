package executors

import (
	"context"
	"sync"
)

// room bounds the turns that are worked on at once. A turn that waits for a session of its own takes none of it, and goes on without asking: so there
// may be less than none for a moment.
type room struct {
	mu    sync.Mutex // guards the fields below
	free  int
	queue []chan struct{} // who waits, the first one first; closed when it has its room
}

func newRoom(capacity int) *room { return &room{free: capacity} }

// enter takes room for a turn when there is some, or gives the cause of ctx.
func (r *room) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	mine := r.ask()
	if mine == nil {
		return nil
	}
	select {
	case <-mine:
	case <-ctx.Done():
		r.forgo(mine)
		return context.Cause(ctx)
	}
	if ctx.Err() != nil { // both were ready
		r.leave()
		return context.Cause(ctx)
	}
	return nil
}

// ask takes room, or else gives a place in the queue.
func (r *room) ask() (mine chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.free > 0 { // then nobody waits
		r.free--
		return nil
	}
	mine = make(chan struct{})
	r.queue = append(r.queue, mine)
	return mine
}

// forgo gives up a place in the queue, or the room that it has brought in the meantime.
func (r *room) forgo(mine chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, c := range r.queue {
		if c == mine {
			r.queue = append(r.queue[:i], r.queue[i+1:]...)
			return
		}
	}
	r.leaveLocked()
}

// leave gives room back.
func (r *room) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leaveLocked()
}

func (r *room) leaveLocked() {
	r.free++
	if r.free > 0 && len(r.queue) > 0 {
		r.free--
		close(r.queue[0])
		r.queue = r.queue[1:]
	}
}

// press takes room at once, though there be none.
func (r *room) press() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free--
}
