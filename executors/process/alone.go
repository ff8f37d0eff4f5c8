package process

import (
	"errors"
	"os"
	"os/exec"
)

// alone is a program without a supervisor. Only its process group is known.
type alone struct {
	cmd     *exec.Cmd
	group   group
	reports chan report
}

var _ holder = (*alone)(nil)

func startAlone(p *plan, files [3]*os.File) (holder, error) {
	a := &alone{cmd: &exec.Cmd{Path: p.path, Args: p.argv, Dir: p.dir, Env: p.env}, reports: make(chan report, 1)}
	a.cmd.Stdin, a.cmd.Stdout, a.cmd.Stderr = files[0], files[1], files[2]
	a.group.own(a.cmd)
	if err := launch(a.cmd); err != nil {
		return nil, explain(err, p.path)
	}
	go a.await()
	return a, nil
}

func (a *alone) pid() int { return a.cmd.Process.Pid }

func (a *alone) terminate() { a.group.terminate(a.cmd) }

func (a *alone) kill() { a.group.kill(a.cmd) }

func (a *alone) ended() <-chan report { return a.reports }

func (a *alone) release(report, bool) {}

// await waits for the end of the program, kills the rest of its group, and reports the end.
func (a *alone) await() {
	defer close(a.reports)
	err := a.group.finish(a.cmd)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return // how it ended is unknown
	}
	s := a.cmd.ProcessState
	r := report{Ended: true, Code: s.ExitCode(), CPU: s.UserTime() + s.SystemTime()}
	r.Signal = signalOf(s)
	a.reports <- r
}
