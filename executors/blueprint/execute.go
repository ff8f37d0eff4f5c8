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

// The reasons of failed sessions.
const (
	reasonStart   = "start"        // the command could not be started
	reasonExit    = "exit_code"    // it ended with a code other than 0
	reasonSignal  = "signal"       // it ended by a signal
	reasonTimeout = "timeout"      // it exceeded its timeout
	reasonOutput  = "output_limit" // it wrote too much
	reasonProcess = "process"      // it could not be run to its end
)

// ending is the end of a run.
type ending struct {
	stdout []byte
	// whole is false if stdout was cut off.
	whole bool
	code  *int
	// failure is empty for exit code 0. Otherwise reason is the reason of the outcome.
	failure, reason string
	wrong           []parley.ValidationError
}

func failed(reason, format string, args ...any) *ending {
	return &ending{whole: true, reason: reason, failure: fmt.Sprintf(format, args...)}
}

// startWait limits the time until a command runs. The claim is longer than the timeout by at least
// this time.
const startWait = 4 * time.Second

// The causes for which a command is stopped.
var (
	errTimeout = errors.New("the command exceeded its timeout")
	errStart   = errors.New("the command could not be started in time")
)

// execute runs the command to its end. An error means that the command was interrupted.
func (s *session) execute(ctx context.Context) (*ending, error) {
	ctx, span := s.startSpan(ctx)
	defer span.End()
	e, err := s.supervise(ctx)
	setSpanResult(span, e)
	return e, err
}

// supervise runs the command within its limits.
func (s *session) supervise(ctx context.Context) (*ending, error) {
	argv, parameters, stdin, err := Arguments(s.file, s.job.Parameters)
	if err != nil {
		return refused(err), nil
	}
	if s.hasContext() {
		return failed(work.ReasonParameters,
			"The parameters cannot be passed to the command: %s is the member of stdin with the context", contextMember), nil
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

// refused returns the end of a run whose parameters were refused.
func refused(err error) *ending {
	var refusal *parley.Error
	if !errors.As(err, &refusal) {
		return failed(work.ReasonParameters, "The parameters cannot be passed to the command: %v", err)
	}
	e := failed(work.ReasonParameters, "%s", refusal.Message)
	if refusal.Validation != nil {
		e.wrong = refusal.Validation.ValidationErrors
	}
	return e
}

// notStarted returns the reason why a command does not run. Paths are only in the log.
func (s *session) notStarted(running context.Context, err error) (*ending, error) {
	switch cause := context.Cause(running); {
	case errors.Is(cause, errStart):
		return failed(reasonStart, "The command could not be started within %s", spoken(startWait)), nil
	case cause != nil:
		return nil, errInterrupted
	case errors.Is(err, process.ErrClosed):
		return nil, errInterrupted
	}
	s.log.Warn("starting the command failed", "blueprint", s.file.Path, "error", err)
	why := "see the runner's log"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		why = "a file is missing: the program, its interpreter or its directory"
	case errors.Is(err, fs.ErrPermission):
		why = "the program is not executable"
	case errors.Is(err, syscall.E2BIG):
		why = "the arguments and the environment are too large for the runner's system"
	}
	return failed(reasonStart, "The command could not be started: %s", why), nil
}

// ended returns how a command ended. An error means that the runner stopped it.
func (s *session) ended(p *process.Process, stdout *capture, stderr *tail) (*ending, error) {
	err, exit := p.Wait(), p.Exit()
	e := &ending{stdout: stdout.bytes(), whole: true}
	var much *tooMuch
	switch {
	case errors.Is(err, process.ErrLeft), errors.Is(err, process.ErrSupervisor):
		s.log.Warn("the command is out of control", "blueprint", s.file.Path, "error", err)
		e.reason, e.failure = reasonProcess, err.Error()
	case errors.As(exit.Stopped, &much):
		e.whole, e.reason, e.failure = false, reasonOutput, much.Error()
	case errors.Is(exit.Stopped, errStart):
		e.reason, e.failure = reasonStart, "The command could not be started within "+spoken(startWait)
	case errors.Is(exit.Stopped, errTimeout):
		e.reason, e.failure = reasonTimeout, "The command did not end within "+spoken(s.timeout)
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
		s.log.Warn("running the command failed", "blueprint", s.file.Path, "error", err)
		e.reason, e.failure = reasonProcess, "Running the command failed; see the runner's log"
	default:
		e.code = &exit.Code
	}
	return e, nil
}

// spoken returns a short form of a duration: 5m instead of 5m0s.
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
