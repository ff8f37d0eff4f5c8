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

// Caller calls Done in the order of Push, on a goroutine that it starts when there is something to call and that ends when there
// is nothing left. The committer so goes on at once, and a batch that comes after Close still gets its answer. The zero Caller is ready.
type Caller struct {
	mu    sync.Mutex // guards the fields below
	due   []Call
	ended chan struct{} // closed when the goroutine ends; nil while there is none
}

// Push adds calls. It does not wait for them.
func (c *Caller) Push(calls ...Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = append(c.due, calls...)
	if c.ended == nil && len(c.due) > 0 {
		c.ended = make(chan struct{})
		go c.run(c.ended)
	}
}

// Wait returns when everything pushed before has been called.
func (c *Caller) Wait() {
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

func (c *Caller) run(ended chan struct{}) {
	defer close(ended)
	for {
		c.mu.Lock()
		due := c.due
		c.due = nil
		if len(due) == 0 {
			c.ended = nil
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		for _, call := range due {
			if call.Done != nil {
				call.Done(call.Head, call.Err)
			}
		}
	}
}
