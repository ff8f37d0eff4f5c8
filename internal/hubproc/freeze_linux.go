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

// freezeTimeout bounds how long threads may take until they stand still: one in the middle of an fsync ends that first.
const freezeTimeout = 2 * time.Minute

// Freeze is SIGSTOP to processes, and waits until none of their threads runs any more: the signal alone stops them one after another.
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
				t.Fatalf("%d does not stand still %s after SIGSTOP: %s", pid, freezeTimeout, state)
			}
		}
	}
}

// running gives what a thread of a process does that has neither stopped nor ended; empty: there is none.
func running(pid int) string {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // it has ended
		}
		_, after, _ := bytes.Cut(text, []byte(") ")) // the name before it has none in our programs
		if len(after) > 0 && !bytes.ContainsRune([]byte("TtZX"), rune(after[0])) {
			return string(text)
		}
	}
	return ""
}
