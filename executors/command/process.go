package command

import (
	"bytes"
	"context"
	"fmt"

	"github.com/parleyhub/parley/executors/process"
)

// running is a running program with its output.
type running struct {
	*process.Process
	stdout *output
	stderr *chatter
}

// start starts the program of a turn. It is stopped when ctx ends.
func start(ctx context.Context, a *Agent, env []string, stdin []byte) (*running, error) {
	r := &running{stdout: newOutput(), stderr: newChatter()}
	var err error
	r.Process, err = a.Processes.Start(ctx, &process.Spec{
		Argv: a.Argv, Dir: a.Dir, Env: env, StopWait: StopWait,
		Stdin: bytes.NewReader(stdin), Stdout: r.stdout, Stderr: r.stderr,
	})
	if err != nil {
		return nil, fmt.Errorf("start the program: %w", err)
	}
	return r, nil
}
