//go:build !linux

package listen

import "syscall"

// setUserTimeout does nothing: here the system alone says how long it sends again what nobody acknowledges.
func setUserTimeout(_, _ string, _ syscall.RawConn) error { return nil }
