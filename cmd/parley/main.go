// Command parley is the hub, the tools around it and a seat for a person, in one binary.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/parleyhub/parley/executors/process"
)

func main() {
	process.Supervise() // programs that run for agents are held by this executable, started again
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // as long as the process
		<-signals
		cancel() // the first signal ends the work in order
		<-signals
		os.Exit(exitFailure) // the second ends the process at once
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
