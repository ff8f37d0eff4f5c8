//go:build unix

package process

import (
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// group is the process group of a program. Its number is the program's pid, and belongs to it as long as that was not taken back.
type group struct {
	mu    sync.Mutex // guards the field below
	freed bool
}

// own gives the program a group of its own, which is told to stop as a whole.
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
		_ = syscall.Kill(-cmd.Process.Pid, s) // it fails when nobody is left
	}
}

// finish waits for the end of the program, and kills what it has left behind in the group.
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
	_ = syscall.Kill(-pid, syscall.SIGKILL) // it fails when nobody is left
}

// signalOf gives the signal that has ended a process; 0 when none has.
func signalOf(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return int(w.Signal())
	}
	return 0
}

// keepFiles marks every file that is open now to stay in this process. Those that Go has opened are marked already; the ones that this process was
// started with may not be.
var keepFiles = sync.OnceFunc(func() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return // no such directory: nothing can be known
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
})
