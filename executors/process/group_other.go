//go:build !unix

package process

import (
	"os"
	"os/exec"
)

// group is the program alone: such systems know no process groups.
type group struct{}

func (*group) own(*exec.Cmd) {}

// terminate kills: there is no gentler way.
func (*group) terminate(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // it fails when it has ended

func (*group) kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func (*group) finish(cmd *exec.Cmd) error { return cmd.Wait() }

func signalOf(*os.ProcessState) int { return 0 }

func launch(cmd *exec.Cmd) error { return cmd.Start() }
