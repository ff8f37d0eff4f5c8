// Command program is parley for the scripts of tests: it can also serve the calls of one script.
// Package clitest builds and starts it:
//
//	clitest.RunScripts(t, "script", nil)
package main

import (
	"io"
	"os"

	"github.com/parleyhub/parley/cmd/parley/internal/clitest/scriptcall"
	"github.com/parleyhub/parley/cmd/parley/internal/commands"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == scriptcall.Arg {
		if err := scriptcall.Serve(os.Stdin, os.Stdout, commands.Run); err != io.EOF {
			panic(err)
		}
		return
	}
	commands.Main("")
}
