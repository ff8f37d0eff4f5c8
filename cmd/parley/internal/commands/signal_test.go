package commands

import (
	"bufio"
	"strings"
	"syscall"
	"testing"

	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/internal/wire"
)

// TestSecondSignalEndsAtOnce: a client that does not answer makes a drain long; a second signal
// does not wait for it.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	cmd, first, stderr := clitest.StartDevHub(t)
	silent, err := wire.DialStream(t.Context(), first.URL, nil) // it never reads
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
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()                                                         // how it ended is looked at below
	if code := cmd.ProcessState.ExitCode(); code != exit.CodeFailure { // a drain that runs out of time has another code
		t.Errorf("exit code %d, expected %d", code, exit.CodeFailure)
	}
}
