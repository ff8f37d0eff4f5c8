package cluster

import (
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// process is a program that is harmed and started again. The goroutine of the test alone uses it.
type process struct {
	t     testing.TB
	name  string
	log   string                // the file of what it says
	make  func() *exec.Cmd      // not started
	begin func(*exec.Cmd) error // starts it where it belongs

	cmd    *exec.Cmd
	ended  chan struct{} // closed once it has
	paused bool
}

// start starts it. It must not run.
func (p *process) start() {
	p.t.Helper()
	f, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close() // the process has it
	cmd, ended := p.make(), make(chan struct{})
	cmd.Stdout, cmd.Stderr = f, f
	if err := p.begin(cmd); err != nil {
		p.t.Fatalf("start %s: %v", p.name, err)
	}
	go func() { // as long as the process
		defer close(ended)
		cmd.Wait() // how it ended is looked at by who needs that
	}()
	p.cmd, p.ended, p.paused = cmd, ended, false
}

// runs reports whether it has not ended.
func (p *process) runs() bool {
	select {
	case <-p.ended:
		return false
	default:
		return p.cmd != nil
	}
}

// check fails the test if it ends by itself.
func (p *process) check() {
	p.t.Helper()
	if !p.runs() {
		p.t.Fatalf("%s has ended by itself: %v\n%s", p.name, p.cmd.ProcessState, p.last())
	}
}

// kill is kill -9. It must not ended by itself before.
func (p *process) kill() {
	p.t.Helper()
	p.check()
	p.end()
	if status := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
		p.t.Fatalf("%s ended by itself before it was killed: %v\n%s", p.name, p.cmd.ProcessState, p.last())
	}
}

// end kills it, whatever it does, and waits for its end.
func (p *process) end() {
	if p.cmd != nil {
		p.cmd.Process.Kill() // does nothing to a process that ended
		<-p.ended
	}
}

// stop is SIGTERM. It must end with code 0, in time.
func (p *process) stop(within time.Duration) {
	p.t.Helper()
	p.check()
	p.signal(syscall.SIGTERM)
	late := time.AfterFunc(within, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	if <-p.ended; !p.cmd.ProcessState.Success() {
		p.t.Errorf("%s, %s after SIGTERM at most: %v\n%s", p.name, within, p.cmd.ProcessState, p.last())
	}
}

// pause stops it where it is, and wake lets it continue.
func (p *process) pause() { p.t.Helper(); p.check(); p.signal(syscall.SIGSTOP); p.paused = true }
func (p *process) wake()  { p.t.Helper(); p.signal(syscall.SIGCONT); p.paused = false }

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%s to %s: %v\n%s", s, p.name, err, p.last())
	}
}

// last is the end of what it said.
func (p *process) last() []byte {
	const most = 4000
	text, err := os.ReadFile(p.log)
	if err != nil {
		return []byte(err.Error())
	}
	return bytes.TrimSpace(text[max(0, len(text)-most):])
}
