//go:build !unix

package command

import "os/exec"

// group is the program alone: such systems know no process groups.
type group struct{}

// own leaves it at killing the program when it is to stop.
func (*group) own(*exec.Cmd) {}

func (*group) finish(cmd *exec.Cmd) error { return cmd.Wait() }

func launch(cmd *exec.Cmd) error { return cmd.Start() }

const doNotWait = 0
