//go:build unix

package doctor

import (
	"syscall"
)

// maxOpenFiles is how many files this process may have open. Go raises the soft limit to the hard
// one when a program starts, for the hub too.
func maxOpenFiles() (uint64, bool) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return uint64(limit.Cur), err == nil
}
