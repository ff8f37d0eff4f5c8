package blueprint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/process"
	"github.com/parleyhub/parley/executors/work"
)

// Why sessions fail here, as the reasons of their outcomes.
const (
	reasonStart   = "start"        // the command could not be started
	reasonExit    = "exit_code"    // it has ended with another code than 0
	reasonSignal  = "signal"       // a signal has ended it
	reasonTimeout = "timeout"      // it has used up its time
	reasonOutput  = "output_limit" // it has written too much
	reasonProcess = "process"      // it could not be run to its end
)

// ending is how a run has ended.
type ending struct {
	stdout []byte
	// whole is false when there was more of stdout.
	whole bool
	code  *int
	// failure is empty when the exit code was 0; else reason is the outcome's.
	failure, reason string
	wrong           []parley.ValidationError
}

func failed(reason, format string, args ...any) *ending {
	return &ending{whole: true, reason: reason, failure: fmt.Sprintf(format, args...)}
}

// startWait bounds the time until a command runs. It is a part of what its claim lasts longer than its timeout.
const startWait = 4 * time.Second

// Why a command is stopped.
var (
	errTimeout = errors.New("the command has used up its time")
	errStart   = errors.New("the command could not be started in time")
)

// execute runs the command to its end. An error says that it was not let come to one.
func (s *session) execute(ctx context.Context) (*ending, error) {
	ctx, span := s.startSpan(ctx)
	defer span.End()
	e, err := s.supervise(ctx)
	tellSpan(span, e)
	return e, err
}

// supervise runs the command within its bounds.
func (s *session) supervise(ctx context.Context) (*ending, error) {
	argv, parameters, stdin, err := Arguments(s.file, s.job.Parameters)
	if err != nil {
		return refused(err), nil
	}
	if s.hasContext() {
		return failed(work.ReasonParameters,
			"The parameters cannot be given to the command: %s is the member of stdin that has the context", contextMember), nil
	}
	env, err := s.environment(ctx, parameters)
	if err != nil {
		return nil, err
	}
	if s.job.Context != nil {
		path, remove, err := contextFile(s.job.Context)
		if err != nil {
			return nil, err
		}
		defer remove()
		env = append(env, "PARLEY_CONTEXT_FILE="+path)
	}
	stdout, stderr := &capture{most: s.file.MaxOutputBytes}, &tail{}
	spec := &process.Spec{
		Argv: argv, Path: s.file.Program, Dir: s.file.Dir, Env: env, Stdout: stdout, Stderr: stderr, StopWait: StopWait,
	}
	if s.file.ParamsVia == parley.ParamsStdin {
		spec.Stdin = bytes.NewReader(withContext(stdin, s.job.Context))
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	late := time.AfterFunc(startWait, func() { stop(errStart) })
	p, err := s.o.Processes.Start(running, spec)
	late.Stop()
	if err != nil {
		return s.notStarted(running, err)
	}
	defer time.AfterFunc(s.timeout, func() { p.Stop(errTimeout) }).Stop()
	s.follow(ctx, p, stderr)
	return s.ended(p, stdout, stderr)
}

// refused is the end of a run that never began.
func refused(err error) *ending {
	var refusal *parley.Error
	if !errors.As(err, &refusal) {
		return failed(work.ReasonParameters, "The parameters cannot be given to the command: %v", err)
	}
	e := failed(work.ReasonParameters, "%s", refusal.Message)
	if refusal.Validation != nil {
		e.wrong = refusal.Validation.ValidationErrors
	}
	return e
}

// notStarted says why a command does not run, and not where it should have been: that is for the log.
func (s *session) notStarted(running context.Context, err error) (*ending, error) {
	switch cause := context.Cause(running); {
	case errors.Is(cause, errStart):
		return failed(reasonStart, "The command could not be started within %s", spoken(startWait)), nil
	case cause != nil:
		return nil, errInterrupted
	case errors.Is(err, process.ErrClosed):
		return nil, errInterrupted
	}
	s.log.Warn("the command could not be started", "blueprint", s.file.Path, "error", err)
	why := "see the runner's log"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		why = "a file is missing: the program, its interpreter or its directory"
	case errors.Is(err, fs.ErrPermission):
		why = "it may not be executed"
	case errors.Is(err, syscall.E2BIG):
		why = "its arguments and its environment are too large for the runner's system"
	}
	return failed(reasonStart, "The command could not be started: %s", why), nil
}

// ended tells how a command has ended. An error says that it was stopped for a reason of the runner.
func (s *session) ended(p *process.Process, stdout *capture, stderr *tail) (*ending, error) {
	err, exit := p.Wait(), p.Exit()
	e := &ending{stdout: stdout.bytes(), whole: true}
	var much *tooMuch
	switch {
	case errors.Is(err, process.ErrLeft), errors.Is(err, process.ErrSupervisor):
		s.log.Warn("the command could not be held", "blueprint", s.file.Path, "error", err)
		e.reason, e.failure = reasonProcess, err.Error()
	case errors.As(exit.Stopped, &much):
		e.whole, e.reason, e.failure = false, reasonOutput, much.Error()
	case errors.Is(exit.Stopped, errStart):
		e.reason, e.failure = reasonStart, "The command could not be started within "+spoken(startWait)
	case errors.Is(exit.Stopped, errTimeout):
		e.reason, e.failure = reasonTimeout, "The command has not ended within "+spoken(s.timeout)
	case exit.Stopped != nil:
		return nil, errInterrupted
	case exit.Signal != 0:
		e.reason, e.failure = reasonSignal, fmt.Sprintf("Killed by signal: %d (%s)", int(exit.Signal), exit.Signal)
	case exit.Code != 0:
		e.code, e.reason = &exit.Code, reasonExit
		if e.failure = stderr.last(); e.failure == "" {
			e.failure = fmt.Sprintf("Exit code: %d", exit.Code)
		}
	case err != nil:
		s.log.Warn("the command could not be run to its end", "blueprint", s.file.Path, "error", err)
		e.reason, e.failure = reasonProcess, "The command could not be run to its end: see the runner's log"
	default:
		e.code = &exit.Code
	}
	return e, nil
}

// spoken is a time as people write it: 5m and not 5m0s.
func spoken(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
