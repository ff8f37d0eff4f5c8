package main

import (
	"bufio"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/wire"
)

// TestSecondSignalEndsAtOnce: a client that does not answer makes a drain long; a second signal does not wait for it.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	cmd, first, stderr := startServe(t)
	silent, err := wire.DialStream(t.Context(), first.URL, nil) // nobody reads from it
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()

	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() && !strings.Contains(lines.Text(), "draining") {
	}
	again := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // how it ended is looked at below
	if code := cmd.ProcessState.ExitCode(); code != exitFailure {
		t.Errorf("exit code %d, expected %d: it was no clean drain", code, exitFailure)
	}
	if took := time.Since(again); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}
