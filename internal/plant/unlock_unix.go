//go:build planted && unix

package plant

import (
	"os"
	"syscall"
)

// Unlock gives back the lock of an open file that NoLock does without.
func Unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
