//go:build unix

package selector_test

import (
	"syscall"
	"time"
)

// worked is how long the processors have worked for this process: a machine that is busy with something else does not count.
func worked() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
