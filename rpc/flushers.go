package rpc

import (
	"runtime"
	"sync"
)

// flushers write out-buffers, a few goroutines for all sockets: what many sockets get at once, such as the answers of one commit, costs no goroutine for each, and
// what comes for one socket while others are written goes out with one system call. They never wait for a peer.
type flushers struct {
	wg sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	some    *sync.Cond
	due     []*outbox // in the order in which they got something
	stopped bool
}

func newFlushers() *flushers {
	f := &flushers{}
	f.some = sync.NewCond(&f.mu)
	for range runtime.GOMAXPROCS(0) {
		f.wg.Go(f.run)
	}
	return f
}

// add takes an out-buffer that has something to write. It is added once until it was flushed.
func (f *flushers) add(o *outbox) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.due = append(f.due, o)
	f.some.Signal()
}

// next takes the first; nil when the flushers are to end.
func (f *flushers) next() *outbox {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.due) == 0 && !f.stopped {
		f.some.Wait()
	}
	if len(f.due) == 0 {
		return nil
	}
	o := f.due[0]
	f.due[0] = nil
	if f.due = f.due[1:]; len(f.due) == 0 {
		f.due = nil
	}
	return o
}

func (f *flushers) run() {
	for o := f.next(); o != nil; o = f.next() {
		if o.flush() {
			f.add(o) // behind the others
		}
	}
}

// stop ends the flushers once everything is written. No out-buffer gets more.
func (f *flushers) stop() {
	f.mu.Lock()
	f.stopped = true
	f.some.Broadcast()
	f.mu.Unlock()
	f.wg.Wait()
}
