// Command engine runs another command beside a NATS server that syncs always, in whose streams the
// hubs of the attacks then keep their logs:
//
//	cd torture && go run ./engine go test -v ./a2a
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/natscluster"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "FAIL\tengine: %v\n", err) // as go test says it, for torture/summary
	}
	os.Exit(code)
}

// run runs a command and returns its exit code.
func run(command []string) (code int, err error) {
	if len(command) == 0 {
		return 2, errors.New("expected a command")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	dir, err := os.MkdirTemp("", "parley-engine-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	c, err := natscluster.Start(ctx, dir, nil)
	if err != nil {
		return 1, err
	}
	defer c.Close()
	user, password := natscluster.Login()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "PARLEY_NATS_PASSWORD="+password,
		fmt.Sprintf("%s=nats://%s@%s?monitor=%s", hubproc.JournalVariable, user, c.Address(0), c.Monitors()[0]))
	var ended *exec.ExitError
	if err := cmd.Run(); errors.As(err, &ended) {
		return ended.ExitCode(), nil
	} else if err != nil {
		return 1, err
	}
	return 0, nil
}
