package process

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

// The errors of programs that did not run, or did not run to their end.
var (
	// ErrClosed means that the pool is closed.
	ErrClosed = errors.New("the pool of programs is closed")
	// ErrSupervisor means that the supervisor of the program died, and the program with it.
	ErrSupervisor = errors.New("the supervisor of the program was killed or failed")
	// ErrLeft means that a process of the program could not be killed.
	ErrLeft = errors.New("a process of the program could not be killed")
)

// Pool starts programs, and keeps idle supervisors for the next program. The zero Pool is ready to
// use. A nil Pool is one shared pool that is never closed. A Pool is safe for concurrent use, and
// must not be copied.
type Pool struct {
	// Idle is how long an idle supervisor is kept. 0 means 1 min.
	Idle time.Duration

	supervisors supervisors

	mu      sync.Mutex // guards the fields below
	closed  bool
	running map[*Process]struct{}
	all     sync.WaitGroup // the programs; only incremented while closed is false
}

// shared is the pool of a nil *Pool.
var shared Pool

// Start starts a program. When ctx ends, its process group gets SIGTERM, and after StopWait the
// rest is killed. If Start returns an error, no process of the program runs.
func (p *Pool) Start(ctx context.Context, s *Spec) (*Process, error) {
	if p == nil {
		p = &shared
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	plan, err := s.plan()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	r := &Process{stop: stop, done: make(chan struct{})}
	if err := p.begin(r); err != nil {
		stop(nil)
		return nil, err
	}
	if err := p.start(ctx, r, s, plan); err != nil {
		stop(nil)
		p.finish(r)
		return nil, err
	}
	return r, nil
}

// start starts a program and the goroutine that follows it.
func (p *Pool) start(ctx context.Context, r *Process, s *Spec, plan *plan) error {
	streams, err := openStreams(s, r.stop)
	if err != nil {
		return err
	}
	held, err := p.hold(ctx, plan, streams.theirs)
	streams.closeTheirs()
	if err != nil {
		streams.closeOurs()
		return err
	}
	r.pid = held.pid()
	streams.begin()
	go func() {
		r.follow(ctx, held, streams, plan.stopWait)
		r.stop(nil)
		close(r.done)
		p.finish(r)
	}()
	return nil
}

// hold starts a program with a supervisor if possible.
func (p *Pool) hold(ctx context.Context, plan *plan, files [3]*os.File) (holder, error) {
	if Enabled() {
		return p.supervisors.start(ctx, plan, files, p.Idle)
	}
	return startAlone(plan, files)
}

// begin registers a program.
func (p *Pool) begin(r *Process) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	if p.running == nil {
		p.running = map[*Process]struct{}{}
	}
	p.running[r] = struct{}{}
	p.all.Add(1)
	return nil
}

// finish removes a program.
func (p *Pool) finish(r *Process) {
	p.mu.Lock()
	delete(p.running, r)
	p.mu.Unlock()
	p.all.Done()
}

// Close prevents new programs, stops running ones with the cause ErrClosed, and waits until all
// programs and supervisors ended.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for r := range p.running {
		r.stop(ErrClosed)
	}
	p.mu.Unlock()
	p.all.Wait()
	p.supervisors.close()
}
