package process

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// Process is a started program.
type Process struct {
	pid  int
	stop context.CancelCauseFunc
	done chan struct{}

	// exit and err are set before done is closed.
	exit Exit
	err  error
}

// Exit describes the end of a program.
type Exit struct {
	// Code is the exit code. It is -1 if a signal ended the program, or if the code is unknown.
	Code int
	// Signal is the signal that ended the program, or 0.
	Signal syscall.Signal
	// CPU is the user and system time of the program. With a supervisor it includes all processes
	// of the program, otherwise the program and the children that it waited for.
	CPU time.Duration
	// Stopped is the cause of a stop, or nil. A stopped program can still end successfully.
	Stopped error
}

// String describes the exit in the words of os.ProcessState.
func (e Exit) String() string {
	if e.Signal != 0 {
		return "signal: " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// ExitError is the error of a program that ended with an exit code other than 0, or by a signal
// that this package did not send.
type ExitError struct{ Exit }

// Error describes how the program ended.
func (e *ExitError) Error() string { return "the program has failed: " + e.String() }

// Pid returns the number of the process and of its group. After the end of the program the number
// may be reused.
func (p *Process) Pid() int { return p.pid }

// Stop stops the program, like the end of its ctx. Only the first cause is kept.
func (p *Process) Stop(cause error) { p.stop(cause) }

// Done returns a channel that is closed after the program ended, no process of it is left, and all
// its output was written.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit waits for the end of the program and describes it.
func (p *Process) Exit() Exit {
	<-p.done
	return p.exit
}

// Wait waits for the end of the program. It returns nil if the program ended with exit code 0 and
// was not stopped. If it was stopped, the error wraps the cause. Other errors are an [*ExitError],
// [ErrSupervisor], [ErrLeft], or that of a stream.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// holder controls a running program. It belongs to the goroutine that follows the program.
type holder interface {
	pid() int
	// terminate sends SIGTERM to the process group.
	terminate()
	// kill kills the program and all its known processes.
	kill()
	// ended returns a channel with one report after all processes ended. The channel is closed
	// without a report if the end is unknown.
	ended() <-chan report
	// release is called last, with the result of ended.
	release(r report, known bool)
}

// report is a message of a supervisor about a program.
type report struct {
	// Pid is the pid of a program that started.
	Pid int
	// Errno is the reason why the program could not be started.
	Errno syscall.Errno
	// Ended is true for an ended program, for which the following fields are set.
	Ended        bool
	Code, Signal int
	CPU          time.Duration
	// Left counts the processes that could not be killed.
	Left int
	// Broken is true if the program was killed because the link was closed.
	Broken bool
}

// follow waits for the end of a program. It stops the program when ctx ends.
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

// await returns the report of the end.
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
