package rpc

import (
	"runtime"
	"sync"
)

// crew does work that comes in many small pieces, a few goroutines for all of it: what many sockets get at once, such as the answers of one commit, costs no goroutine for
// each. A piece must not wait for a peer.
type crew[T any] struct {
	do func(T) (again bool)
	wg sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	some    *sync.Cond
	due     []T // in the order in which they came
	stopped bool
}

// newCrew starts a goroutine for each processor. What do reports that it is to be done again goes behind the others.
func newCrew[T any](do func(T) (again bool)) *crew[T] {
	c := &crew[T]{do: do}
	c.some = sync.NewCond(&c.mu)
	for range runtime.GOMAXPROCS(0) {
		c.wg.Go(c.run)
	}
	return c
}

// add takes a piece of work. It never blocks.
func (c *crew[T]) add(piece T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = append(c.due, piece)
	c.some.Signal()
}

// next takes the first piece; false when there is none and the crew is to end.
func (c *crew[T]) next() (piece T, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.due) == 0 && !c.stopped {
		c.some.Wait()
	}
	if len(c.due) == 0 {
		return piece, false
	}
	var none T
	piece, c.due[0] = c.due[0], none
	if c.due = c.due[1:]; len(c.due) == 0 {
		c.due = nil
	}
	return piece, true
}

func (c *crew[T]) run() {
	for {
		piece, ok := c.next()
		if !ok {
			return
		}
		if c.do(piece) {
			c.add(piece)
		}
	}
}

// stop ends the crew once everything is done. There must come no more.
func (c *crew[T]) stop() {
	c.mu.Lock()
	c.stopped = true
	c.some.Broadcast()
	c.mu.Unlock()
	c.wg.Wait()
}
