//go:build unix

package selector_test

import (
	"syscall"
	"time"
)

// worked returns the CPU time of this process, which other processes on the machine do not add to.
func worked() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
