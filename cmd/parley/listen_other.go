//go:build !linux

package main

import "syscall"

// endsUnacknowledged does nothing: here the system alone says how long it sends again what nobody acknowledges.
func endsUnacknowledged(_, _ string, _ syscall.RawConn) error { return nil }
