//go:build devcluster

package devcluster

import (
	"syscall"
)

// processAttributes keeps the keys of the terminal from a hub, which is told by this process, and ends it with this process however that ends.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
