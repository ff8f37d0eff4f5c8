package process

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// Process is a program that was started.
type Process struct {
	pid  int
	stop context.CancelCauseFunc
	done chan struct{}

	// exit and err are for who has seen done closed.
	exit Exit
	err  error
}

// Exit is how a program has ended.
type Exit struct {
	// Code is its exit code; -1 when a signal has ended it, and when it is not known.
	Code int
	// Signal is what has ended it; 0 when none has.
	Signal syscall.Signal
	// CPU is the time that it has computed, in user and system mode together: all of its processes under a supervisor, else it and those that it has waited for.
	CPU time.Duration
	// Stopped is why it was told to stop; nil when it was not. It may have ended well nevertheless.
	Stopped error
}

// String says it in the words of os.ProcessState.
func (e Exit) String() string {
	if e.Signal != 0 {
		return "signal: " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// ExitError is the error of a program that has ended with another exit code than 0, or by a signal that nobody here has sent.
type ExitError struct{ Exit }

// Error says how it ended.
func (e *ExitError) Error() string { return "the program has failed: " + e.String() }

// Pid is the number of the process, which is that of its group as well. After its end it may belong to others.
func (p *Process) Pid() int { return p.pid }

// Stop stops the program, as the end of its ctx does. The first cause counts.
func (p *Process) Stop(cause error) { p.stop(cause) }

// Done is closed when the program has ended, nothing of it is left, and all that it wrote was taken.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit says how the program has ended. It waits for that.
func (p *Process) Exit() Exit {
	<-p.done
	return p.exit
}

// Wait waits for the end, and is nil for a program that has ended by itself with exit code 0. Otherwise it is "the program was stopped" around the cause when it
// was, an [*ExitError], [ErrSupervisor] or [ErrLeft].
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// holder is a program that runs, and what it is held by. It belongs to the goroutine that follows the program.
type holder interface {
	pid() int
	// terminate tells it and its process group to end.
	terminate()
	// kill kills it, with all that it can find of it.
	kill()
	// ended has one report when it has ended and what it has left was killed, or is closed when that is not known.
	ended() <-chan report
	// release is called last, with what came of ended.
	release(r report, known bool)
}

// report is what is told of a program. It is what a supervisor sends.
type report struct {
	// Pid is that of a program that runs now.
	Pid int
	// Errno says why it could not be started.
	Errno syscall.Errno
	// Ended says that what follows holds.
	Ended        bool
	Code, Signal int
	CPU          time.Duration
	// Left counts the processes of it that could not be killed.
	Left int
	// Broken says that it was killed because there were no more orders.
	Broken bool
}

// follow waits for the end of a program. When ctx ends it is stopped.
func (p *Process) follow(ctx context.Context, h holder, s *streams, stopWait time.Duration) {
	r, known := p.await(ctx, h, stopWait)
	h.release(r, known)
	taken := s.finish()
	p.exit.Code = -1
	if known {
		p.exit.Code, p.exit.Signal, p.exit.CPU = r.Code, syscall.Signal(r.Signal), r.CPU
	}
	if cause := context.Cause(ctx); cause != nil {
		p.exit.Stopped = cause
	}
	switch {
	case r.Left > 0:
		p.err = fmt.Errorf("%w: %d are left", ErrLeft, r.Left)
	case p.exit.Stopped != nil:
		p.err = fmt.Errorf("the program was stopped: %w", p.exit.Stopped)
	case !known || r.Broken:
		p.err = ErrSupervisor
	case p.exit.Code != 0:
		p.err = &ExitError{p.exit}
	default:
		p.err = taken
	}
}

// await gives the report of the end.
func (p *Process) await(ctx context.Context, h holder, stopWait time.Duration) (r report, known bool) {
	select {
	case r, known = <-h.ended():
		return r, known
	case <-ctx.Done():
	}
	if stopWait > 0 {
		h.terminate()
		patience := time.NewTimer(stopWait)
		defer patience.Stop()
		select {
		case r, known = <-h.ended():
			return r, known
		case <-patience.C:
		}
	}
	h.kill()
	r, known = <-h.ended()
	return r, known
}
