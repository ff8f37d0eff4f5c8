//go:build devcluster && !linux

package devcluster

import "syscall"

// processAttributes is nothing here: the keys of the terminal reach every hub.
func processAttributes() *syscall.SysProcAttr { return nil }
