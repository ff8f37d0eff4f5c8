package bench

import (
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"
)

// processCPU returns the user and system time of a process, or 0 after its end.
func processCPU(pid int) time.Duration {
	const ofProcess = 2 // of the clocks of a process, the one that counts what its threads were scheduled
	var t syscall.Timespec
	clock := uintptr(^pid<<3 | ofProcess)
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		return 0
	}
	return time.Duration(t.Nano())
}

// syncData makes what was written to f durable, with as little else as can be.
func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

// endWithParent has a child killed when this process is gone, however that comes.
func endWithParent(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
