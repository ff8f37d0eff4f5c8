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

// stopTimeout is how long a runner may take to end after SIGTERM.
const stopTimeout = 20 * time.Second

// Runner is a running parley run. It is killed at the end of the test if it still runs.
type Runner struct {
	cmd *exec.Cmd
	out bytes.Buffer
}

// Runner starts parley run with args for a hub, and does not wait until it is registered there.
func (p Program) Runner(t testing.TB, h *Hub, token string, args ...string) *Runner {
	t.Helper()
	r := &Runner{cmd: exec.Command(string(p), append([]string{"run"}, args...)...)}
	r.cmd.Env = append(os.Environ(), "PARLEY_URL="+h.URL, "PARLEY_TOKEN="+token)
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
	if err := Start(r.cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.cmd.Process.Kill() // does nothing to a process that has ended
		r.cmd.Wait()
		if t.Failed() {
			t.Logf("the runner has printed\n%s", strings.TrimSpace(r.out.String()))
		}
	})
	return r
}

// Pid is the number of its process.
func (r *Runner) Pid() int { return r.cmd.Process.Pid }

// Kill is kill -9. The runner must not have ended by itself before.
func (r *Runner) Kill(t testing.TB) {
	t.Helper()
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.cmd.Wait()
	if status := r.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the runner ended by itself before it was killed: %v\n%s", r.cmd.ProcessState, r.out.Bytes())
	}
}

// Stop is SIGTERM. The runner must end with code 0, in time.
func (r *Runner) Stop(t testing.TB) {
	t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(stopTimeout, func() { r.cmd.Process.Kill() })
	defer late.Stop()
	if err := r.cmd.Wait(); err != nil {
		t.Fatalf("%s after SIGTERM at most: %v\n%s", stopTimeout, err, r.out.Bytes())
	}
}
