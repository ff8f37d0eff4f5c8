package hubproc

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"
)

// Terminate sends SIGTERM without waiting. It has no effect after the end of the hub.
func (h *Hub) Terminate(t testing.TB) {
	t.Helper()
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// Ended waits for the end of the hub and returns its exit code. It fails the test after the time
// within.
func (h *Hub) Ended(t testing.TB, within time.Duration) int {
	t.Helper()
	late := time.AfterFunc(within, func() { h.cmd.Process.Kill() })
	defer late.Stop()
	h.cmd.Wait()
	if code := h.cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	t.Fatalf("the hub has not ended within %s: %v\n%s", within, h.cmd.ProcessState, h.stderr.Bytes())
	return -1
}
