package runner

import (
	"syscall"
)

// HideEnvironment keeps programs that this process starts, and others of the same user, from
// reading its environment, where the token is. It also means that it leaves no core file. Root
// reads everything.
func HideEnvironment() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
