//go:build !unix

package process

import (
	"os"
	"os/exec"
)

// group is only the program, because these systems have no process groups.
type group struct{}

func (*group) own(*exec.Cmd) {}

// terminate kills the program, because there is no softer way.
func (*group) terminate(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // fails if the program ended

func (*group) kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func (*group) finish(cmd *exec.Cmd) error { return cmd.Wait() }

func signalOf(*os.ProcessState) int { return 0 }

func launch(cmd *exec.Cmd) error { return cmd.Start() }
