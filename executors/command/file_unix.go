//go:build unix

package command

import "syscall"

// doNotWait opens a pipe without waiting for its other end.
const doNotWait = syscall.O_NONBLOCK
