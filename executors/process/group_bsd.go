//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// endWithUs does nothing, because these systems cannot bind a program to its parent.
func endWithUs(*syscall.SysProcAttr) {}

func launch(cmd *exec.Cmd) error {
	keepFiles()
	return cmd.Start()
}

// awaitExit is not supported, so the group is killed just after the program is reaped.
func awaitExit(int) bool { return false }
