//go:build !linux

package listen

import "syscall"

// setUserTimeout does nothing: on this system the kernel alone decides how long it retransmits.
func setUserTimeout(_, _ string, _ syscall.RawConn) error { return nil }
