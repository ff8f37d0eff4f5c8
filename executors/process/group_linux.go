package process

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

// endWithUs has the kernel kill the program when the thread that has started it ends.
func endWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// launches are programs to be started.
type launches struct {
	cmd  *exec.Cmd
	done chan<- error
}

// launcher starts programs on one thread that lasts as long as the process. On any other thread a program could be killed because Go has ended the thread.
var launcher = sync.OnceValue(func() chan<- launches {
	queue := make(chan launches)
	go func() { // as long as the process
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

// Whom waitid waits for, and how.
const (
	waitForAny  = 0          // P_ALL
	waitForPid  = 1          // P_PID
	waitExited  = 0x4        // WEXITED
	waitNoReap  = 0x01000000 // WNOWAIT
	siginfoSize = 128
)

// awaitExit waits for the end of a program without taking its pid back, so that its group can be killed before the number may belong to
// others. It is false when the kernel does not say.
func awaitExit(pid int) bool { return waitid(waitForPid, pid) == 0 }

// waitid waits for the end of a child and leaves it to be reaped.
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
