package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
)

// process is a program that runs.
type process struct {
	cmd    *exec.Cmd
	group  group
	stdout *output
	stderr *chatter
	// stop makes it end, and why is what is told of its end then. The first cause counts.
	stop context.CancelCauseFunc
	// ended is closed when the program has ended and all that it wrote was taken; err says how.
	ended chan struct{}
	err   error
}

// start starts the program of a turn. It is stopped when ctx ends.
func start(ctx context.Context, a *Agent, env []string, stdin []byte) (*process, error) {
	path, err := a.program()
	if err != nil {
		return nil, fmt.Errorf("start the program: %w", err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	p := &process{stop: stop, stdout: newOutput(stop), stderr: newChatter(), ended: make(chan struct{})}
	cmd := exec.CommandContext(ctx, path, a.Argv[1:]...)
	cmd.Args[0] = a.Argv[0]
	cmd.Dir, cmd.Env = a.Dir, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), p.stdout, p.stderr
	cmd.WaitDelay = StopWait
	p.group.own(cmd)
	p.cmd = cmd
	if err := launch(cmd); err != nil {
		stop(nil)
		return nil, fmt.Errorf("start the program: %w", err)
	}
	go func() {
		defer close(p.ended)
		p.err = p.wait(ctx)
		stop(nil)
	}()
	return p, nil
}

// wait waits for the end of the program, kills what it has left behind in its process group, and says how it ended.
func (p *process) wait(ctx context.Context) error {
	err := p.group.finish(p.cmd)
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("the program was stopped: %w", cause)
	}
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // somebody who has left the group holds its stdout open
		return nil
	case errors.As(err, &exit):
		return fmt.Errorf("the program has failed: %s", exit.ProcessState)
	}
	return fmt.Errorf("run the program: %w", err)
}
