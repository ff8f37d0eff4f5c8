package process

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	// defaultIdle is the default of Pool.Idle.
	defaultIdle = time.Minute
	// wakeEvery is how often a supervisor is continued until it reports the start of a program.
	wakeEvery = 200 * time.Millisecond
)

// supervisors are the supervisors of a pool.
type supervisors struct {
	all sync.WaitGroup // the supervisors that run

	mu     sync.Mutex // guards the fields below
	closed bool
	free   []*supervisor // the most recently used one is the last
}

// start starts a program with a supervisor. It replaces a supervisor that died while idle.
func (all *supervisors) start(ctx context.Context, p *plan, files [3]*os.File, idle time.Duration) (holder, error) {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	run := &order{Kind: orderRun, Path: p.path, Dir: p.dir, Argv: p.argv, Env: p.env}
	for {
		s, used, err := all.take()
		if err != nil {
			return nil, fmt.Errorf("start a supervisor: %w", err)
		}
		if err = s.out.send(run, fds...); err == nil {
			return all.await(ctx, s, p.path, cmp.Or(idle, defaultIdle))
		}
		s.end() // it did not receive the whole order
		if !used {
			return nil, fmt.Errorf("order a supervisor to start the program: %w", err)
		}
	}
}

// await waits until the program started. The program may stop the supervisor before it reports the
// start.
func (all *supervisors) await(ctx context.Context, s *supervisor, path string, idle time.Duration) (holder, error) {
	again := time.NewTicker(wakeEvery)
	defer again.Stop()
	for {
		select {
		case r, ok := <-s.reports:
			switch {
			case !ok:
				return nil, ErrSupervisor
			case r.Errno != 0:
				all.put(s, idle)
				return nil, explain(&os.PathError{Op: "fork/exec", Path: path, Err: r.Errno}, path)
			}
			return &held{all: all, supervisor: s, program: r.Pid, idle: idle}, nil
		case <-again.C:
			s.wake()
		case <-ctx.Done():
			s.end()
			return nil, context.Cause(ctx)
		}
	}
}

// take returns an idle supervisor, and whether it was used before. It may have died since.
func (all *supervisors) take() (s *supervisor, used bool, err error) {
	if s = all.pop(); s != nil {
		return s, true, nil
	}
	if s, err = newSupervisor(); err != nil {
		return nil, false, err
	}
	all.all.Go(s.listen)
	return s, false, nil
}

// pop returns the supervisor that was used last, or nil.
func (all *supervisors) pop() *supervisor {
	all.mu.Lock()
	defer all.mu.Unlock()
	last := len(all.free) - 1
	if last < 0 {
		return nil
	}
	s := all.free[last]
	all.free = slices.Delete(all.free, last, last+1)
	s.idle.Stop()
	return s
}

// put keeps a supervisor for the next program.
func (all *supervisors) put(s *supervisor, idle time.Duration) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.closed {
		s.abandon()
		return
	}
	s.idle = time.AfterFunc(idle, func() { all.expire(s) })
	all.free = append(all.free, s)
}

// expire ends a supervisor that is still idle.
func (all *supervisors) expire(s *supervisor) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if i := slices.Index(all.free, s); i >= 0 {
		all.free = slices.Delete(all.free, i, i+1)
		s.abandon()
	}
}

// close ends all supervisors, and waits for their end.
func (all *supervisors) close() {
	all.mu.Lock()
	all.closed = true
	for _, s := range all.free {
		s.idle.Stop()
		s.abandon()
	}
	all.free = nil
	all.mu.Unlock()
	all.all.Wait()
}
