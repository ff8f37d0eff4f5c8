package submit

import (
	"sync"

	"github.com/parleyhub/parley/hub/journal"
)

// Call is a Done that is due.
type Call struct {
	Done func(journal.Head, error)
	Head journal.Head
	Err  error
}

// Caller calls Done in the order of Push, on a goroutine of its own that begins with the first Push and rests while there is nothing to call: it keeps its stack, which
// a goroutine for each commit would grow anew. The committer so goes on at once, and a batch that comes after Wait still gets its answer. The zero Caller is ready.
type Caller struct {
	mu     sync.Mutex // guards the fields below
	some   *sync.Cond
	due    []Call
	room   []Call        // empty: of calls that were made, for those to come
	ended  chan struct{} // closed when the goroutine ends; nil while there is none
	waited bool          // Wait was called: the goroutine ends when there is nothing left
}

// Push adds calls, and keeps nothing of the slice. It does not wait for them.
func (c *Caller) Push(calls ...Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(calls) == 0 {
		return
	}
	if c.due == nil {
		c.due, c.room = c.room, nil
	}
	c.due = append(c.due, calls...)
	if c.some == nil {
		c.some = sync.NewCond(&c.mu)
	}
	if c.ended == nil {
		c.ended = make(chan struct{})
		go c.run(c.ended)
	}
	c.some.Signal()
}

// Wait returns when everything pushed before has been called, and the goroutine has ended.
func (c *Caller) Wait() {
	c.mu.Lock()
	ended := c.ended
	c.waited = true
	if ended != nil {
		c.some.Signal()
	}
	c.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

func (c *Caller) run(ended chan struct{}) {
	defer close(ended)
	var called []Call
	for {
		due := c.next(called)
		if due == nil {
			return
		}
		for _, call := range due {
			if call.Done != nil {
				call.Done(call.Head, call.Err)
			}
		}
		clear(due) // what has been called holds nothing while there is nothing more
		called = due
	}
}

// next takes what is due, and gives back the room of what was called; nil when the goroutine is to end.
func (c *Caller) next(called []Call) []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cap(called) <= maxRoom {
		c.room = called[:0]
	}
	for len(c.due) == 0 && !c.waited {
		c.some.Wait()
	}
	due := c.due
	if c.due = nil; len(due) == 0 {
		c.ended = nil
		return nil
	}
	return due
}
