//go:build devcluster

package main

import "syscall"

// ofCluster keeps the keys of the terminal from a hub, which is told by this process, and ends it with this process however that ends.
func ofCluster() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
