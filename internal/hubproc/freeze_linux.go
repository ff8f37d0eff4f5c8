package hubproc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// freezeTimeout limits the time until all threads have stopped. A thread in fsync finishes it
// first.
const freezeTimeout = 2 * time.Minute

// Freeze sends SIGSTOP to processes and waits until all their threads have stopped, because the
// signal stops one after the other.
func Freeze(t testing.TB, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatalf("SIGSTOP to %d: %v", pid, err)
		}
	}
	for _, pid := range pids {
		for begun := time.Now(); ; time.Sleep(time.Millisecond) {
			state := running(pid)
			if state == "" {
				break
			}
			if time.Since(begun) > freezeTimeout {
				t.Fatalf("process %d is not stopped %s after SIGSTOP: %s", pid, freezeTimeout, state)
			}
		}
	}
}

// running returns the state of a thread of a process that has neither stopped nor ended, or "".
func running(pid int) string {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // the process is dead
		}
		_, after, _ := bytes.Cut(text, []byte(") ")) // the name before it contains none in our programs
		if len(after) > 0 && !bytes.ContainsRune([]byte("TtZX"), rune(after[0])) {
			return string(text)
		}
	}
	return ""
}
