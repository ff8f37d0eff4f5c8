package rpc

import (
	"runtime"
	"sync"
)

// workerPool does many small tasks on one goroutine for each processor. So a commit with answers for
// many sockets does not need a goroutine for each. A task must not wait for a peer.
type workerPool[T any] struct {
	do func(T) (again bool)
	wg sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	changed *sync.Cond
	tasks   []T // in the order of their arrival
	stopped bool
}

// newWorkerPool starts a pool. A task for which do returns true goes to the end of the queue again.
func newWorkerPool[T any](do func(T) (again bool)) *workerPool[T] {
	p := &workerPool[T]{do: do}
	p.changed = sync.NewCond(&p.mu)
	for range runtime.GOMAXPROCS(0) {
		p.wg.Go(p.run)
	}
	return p
}

// submit adds a task. It never blocks.
func (p *workerPool[T]) submit(task T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tasks = append(p.tasks, task)
	p.changed.Signal()
}

// take waits for the first task. It returns false if the pool has stopped and has no task.
func (p *workerPool[T]) take() (task T, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.tasks) == 0 && !p.stopped {
		p.changed.Wait()
	}
	if len(p.tasks) == 0 {
		return task, false
	}
	var zero T
	task, p.tasks[0] = p.tasks[0], zero
	if p.tasks = p.tasks[1:]; len(p.tasks) == 0 {
		p.tasks = nil
	}
	return task, true
}

func (p *workerPool[T]) run() {
	for {
		task, ok := p.take()
		if !ok {
			return
		}
		if p.do(task) {
			p.submit(task)
		}
	}
}

// stop returns when all tasks are done. No task may be submitted after it.
func (p *workerPool[T]) stop() {
	p.mu.Lock()
	p.stopped = true
	p.changed.Broadcast()
	p.mu.Unlock()
	p.wg.Wait()
}
