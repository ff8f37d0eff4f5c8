package hubproc

import (
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// launcher starts processes on one thread that lives as long as this process, because the kernel
// kills them when the thread that started them ends.
type launcher struct {
	mounts string // the namespace of the thread
	queue  chan func()
}

var launching = sync.OnceValue(func() *launcher {
	l := &launcher{queue: make(chan func())}
	mounts := make(chan string)
	go func() { // runs as long as the process
		runtime.LockOSThread()
		mounts <- mountsOfThread()
		for start := range l.queue {
			start()
		}
	}()
	l.mounts = <-mounts
	return l
})

// mountsOfThread returns the mount namespace of the thread, or "" if the system does not provide
// it.
func mountsOfThread() string {
	name, _ := os.Readlink("/proc/thread-self/ns/mnt")
	return name
}

// Start starts a process that ends with this one, however this one ends. A test whose goroutine is
// locked to a thread with its own mounts starts it on that thread; such a process also ends with
// that goroutine.
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
