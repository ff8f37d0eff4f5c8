//go:build unix

package process

import (
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// group is the process group of a program. Its number is the pid of the program, and is not reused
// until the program is reaped.
type group struct {
	mu    sync.Mutex // guards the field below
	freed bool
}

// own puts the program into its own group.
func (g *group) own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithUs(cmd.SysProcAttr)
}

func (g *group) terminate(cmd *exec.Cmd) { g.signal(cmd, syscall.SIGTERM) }

func (g *group) kill(cmd *exec.Cmd) { g.signal(cmd, syscall.SIGKILL) }

func (g *group) signal(cmd *exec.Cmd, s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.freed {
		_ = syscall.Kill(-cmd.Process.Pid, s) // fails if the group is empty
	}
}

// finish waits for the end of the program, and kills the rest of its group.
func (g *group) finish(cmd *exec.Cmd) error {
	inTime := awaitExit(cmd.Process.Pid)
	g.mu.Lock()
	g.freed = true
	g.mu.Unlock()
	if inTime {
		killGroup(cmd.Process.Pid)
		return cmd.Wait()
	}
	err := cmd.Wait()
	killGroup(cmd.Process.Pid)
	return err
}

func killGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL) // fails if the group is empty
}

// signalOf returns the signal that ended a process, or 0.
func signalOf(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return int(w.Signal())
	}
	return 0
}

// keepFiles marks all open files as close-on-exec. Go marks the files that it opens, but files that
// this process inherited may not be marked.
var keepFiles = sync.OnceFunc(func() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return // the directory does not exist, so the open files are unknown
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
})
