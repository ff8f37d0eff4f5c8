//go:build unix

package selector_test

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time of the process, which does not depend on other processes.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
