package hubproc

import (
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// launcher starts processes on one thread, which lasts as long as this process: the kernel kills them when the thread that has started them ends.
type launcher struct {
	mounts string // the namespace that the thread is in
	queue  chan func()
}

var launching = sync.OnceValue(func() *launcher {
	l := &launcher{queue: make(chan func())}
	mounts := make(chan string)
	go func() { // as long as the process
		runtime.LockOSThread()
		mounts <- mountsOfThread()
		for start := range l.queue {
			start()
		}
	}()
	l.mounts = <-mounts
	return l
})

// mountsOfThread names the mount namespace of the thread; empty where the system does not tell.
func mountsOfThread() string {
	name, _ := os.Readlink("/proc/thread-self/ns/mnt")
	return name
}

// Start starts a process that does not outlive this one, however this one ends. A test whose goroutine is locked to a thread with mounts of its own starts it there,
// where it sees them; so it does not outlive that goroutine either.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	l := launching()
	if mountsOfThread() != l.mounts {
		return cmd.Start()
	}
	done := make(chan error, 1)
	l.queue <- func() { done <- cmd.Start() }
	return <-done
}
