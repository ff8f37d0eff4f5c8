// Package commands puts the program together: all commands, shell completion and signals.
//
//	func main() { commands.Main(release) }
package commands

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/executors/process"
)

// Main runs the program with the arguments of the process, and does not return. The first SIGINT or
// SIGTERM stops the work in order. The second one stops the process at once.
func Main(release string) {
	process.Supervise() // this executable, started again, watches the programs that run for agents
	cli.SetRelease(release)
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // until the process ends
		<-signals
		cancel()
		<-signals
		os.Exit(exit.CodeFailure)
	}()
	os.Exit(Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Run runs one command line in this process, and returns the exit code.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return cli.Execute(ctx, args, cli.Streams{In: stdin, Out: stdout, Err: stderr}, addCommands)
}
