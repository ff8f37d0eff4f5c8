package process

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

// Why a program could not be run, or not to its end.
var (
	// ErrClosed: the pool is closed.
	ErrClosed = errors.New("the pool of programs is closed")
	// ErrSupervisor: what held the program has died, and the program with it.
	ErrSupervisor = errors.New("the supervisor of the program was killed or has failed")
	// ErrLeft: a process of the program could not be killed.
	ErrLeft = errors.New("a process of the program could not be killed")
)

// Pool starts programs, and keeps their supervisors for the next. The zero Pool is useful, and so is a nil one: it is a single one that
// all share, which is never closed. A Pool may be used by many goroutines, and must not be copied.
type Pool struct {
	// Idle is how long a supervisor is kept that has nothing to do; 0, 1 min.
	Idle time.Duration

	supervisors supervisors

	mu      sync.Mutex // guards the fields below
	closed  bool
	running map[*Process]struct{}
	all     sync.WaitGroup // the programs; only added to while it is not closed
}

// shared is what a nil Pool stands for.
var shared Pool

// Start starts a program. When ctx ends it is stopped: its process group gets SIGTERM, and what is left StopWait later is killed. An error says why it does
// not run, and that nothing of it does.
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

// start starts a program and what follows it.
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

// hold starts a program in the best way that there is.
func (p *Pool) hold(ctx context.Context, plan *plan, files [3]*os.File) (holder, error) {
	if Enabled() {
		return p.supervisors.start(ctx, plan, files, p.Idle)
	}
	return startAlone(plan, files)
}

// begin counts a program in.
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

// finish counts it out.
func (p *Pool) finish(r *Process) {
	p.mu.Lock()
	delete(p.running, r)
	p.mu.Unlock()
	p.all.Done()
}

// Close starts nothing any more, stops what runs, with ErrClosed as the cause, and returns when all programs and supervisors have ended.
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
