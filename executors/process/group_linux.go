package process

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

// endWithUs makes the kernel kill the program when the thread that started it ends.
func endWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// launches is a program to start.
type launches struct {
	cmd  *exec.Cmd
	done chan<- error
}

// launcher starts programs on a thread that never ends. On another thread, a program would be
// killed if Go ends the thread.
var launcher = sync.OnceValue(func() chan<- launches {
	queue := make(chan launches)
	go func() { // until the process ends
		runtime.LockOSThread()
		for l := range queue {
			l.done <- l.cmd.Start()
		}
	}()
	return queue
})

func launch(cmd *exec.Cmd) error {
	keepFiles()
	done := make(chan error, 1)
	launcher() <- launches{cmd, done}
	return <-done
}

// The arguments of waitid.
const (
	waitForAny  = 0          // P_ALL
	waitForPid  = 1          // P_PID
	waitExited  = 0x4        // WEXITED
	waitNoReap  = 0x01000000 // WNOWAIT
	siginfoSize = 128
)

// awaitExit waits for the end of a program without reaping it, so that its group can be killed
// before the number is reused. It returns false if the kernel does not support that.
func awaitExit(pid int) bool { return waitid(waitForPid, pid) == 0 }

// waitid waits for the end of a child without reaping it.
func waitid(whom, pid int) syscall.Errno {
	var info [siginfoSize]byte
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, uintptr(whom), uintptr(pid),
			uintptr(unsafe.Pointer(&info)), waitExited|waitNoReap, 0, 0)
		if errno != syscall.EINTR {
			return errno
		}
	}
}
