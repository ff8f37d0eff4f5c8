//go:build !linux

package hubproc

import "os/exec"

// Start starts a process. Here it outlives this one, if this one is killed.
func Start(cmd *exec.Cmd) error { return cmd.Start() }
