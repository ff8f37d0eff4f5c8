//go:build devcluster

package devcluster

import (
	"syscall"
)

// processAttributes keeps the keys of the terminal from a hub, since this process stops it. The hub
// never outlives this process.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
