package hubproc

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stopTimeout detects a runner that hangs after SIGTERM.
const stopTimeout = 2 * time.Minute

// Runner is a running parley run. If it still runs at the end of the test, it is killed.
type Runner struct {
	cmd  *exec.Cmd
	out  bytes.Buffer  // complete after the end
	done chan struct{} // closed at the end
}

// Runner starts parley run with args for a hub, without waiting for its registration.
func (p Program) Runner(t testing.TB, h *Hub, token string, args ...string) *Runner {
	t.Helper()
	r := &Runner{cmd: exec.Command(string(p), append([]string{"run"}, args...)...), done: make(chan struct{})}
	r.cmd.Env = append(os.Environ(), "PARLEY_URL="+h.URL, "PARLEY_TOKEN="+token)
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
	if err := Start(r.cmd); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.done)
		r.cmd.Wait() // callers that need the result check it
	}()
	t.Cleanup(func() {
		r.cmd.Process.Kill() // does nothing to a dead process
		<-r.done
		if t.Failed() {
			t.Logf("the runner has printed\n%s", strings.TrimSpace(r.out.String()))
		}
	})
	return r
}

// Pid returns the id of the process.
func (r *Runner) Pid() int { return r.cmd.Process.Pid }

// exitUnreached is the exit code of a runner that reached no hub at its start.
const exitUnreached = 6

// Unreached reports whether the runner exited because it reached no hub at its start. Restart it in
// this case, as a service manager does.
func (r *Runner) Unreached() bool {
	select {
	case <-r.done:
		return r.cmd.ProcessState.ExitCode() == exitUnreached
	default:
		return false
	}
}

// Kill sends SIGKILL to a runner that must still run.
func (r *Runner) Kill(t testing.TB) {
	t.Helper()
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-r.done
	if status := r.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the runner ended by itself before it was killed: %v\n%s", r.cmd.ProcessState, r.out.Bytes())
	}
}

// Stop sends SIGTERM. The runner must exit with code 0 in time.
func (r *Runner) Stop(t testing.TB) {
	t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(stopTimeout, func() { r.cmd.Process.Kill() })
	defer late.Stop()
	if <-r.done; !r.cmd.ProcessState.Success() {
		t.Fatalf("%s after SIGTERM at most: %v\n%s", stopTimeout, r.cmd.ProcessState, r.out.Bytes())
	}
}
