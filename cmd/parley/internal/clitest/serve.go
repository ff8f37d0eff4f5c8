package clitest

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// StartDevHub runs "parley serve --dev" with more arguments, and returns its first line and its
// stderr. The process ends with the test at the latest.
func StartDevHub(t *testing.T, args ...string) (cmd *exec.Cmd, first FirstLine, stderr io.Reader) {
	t.Helper()
	cmd = exec.Command("parley", append([]string{"serve", "--dev", "--listen", ":0", "-o", "json"}, args...)...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if stderr, err = cmd.StderrPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(Patience, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	t.Cleanup(func() {
		cmd.Process.Kill() // has no effect on an ended process
		cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &first) != nil {
		t.Fatalf("serve said %q, %v", line, err)
	}
	return cmd, first, stderr
}

// StartHub starts "parley serve" with more flags and environment, and returns its first line and
// its stderr.
func StartHub(t *testing.T, environ []string, args ...string) (cmd *exec.Cmd, first FirstLine, stderr *bufio.Scanner) {
	t.Helper()
	cmd = exec.Command("parley", append([]string{"serve", "-o", "json", "--listen", ":0"}, args...)...)
	cmd.Env = append(os.Environ(), environ...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(Patience, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	t.Cleanup(func() {
		cmd.Process.Kill() // has no effect on an ended process
		cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &first) != nil {
		said, _ := io.ReadAll(pipe)
		t.Fatalf("serve said %q, %v: %s", line, err, said)
	}
	return cmd, first, bufio.NewScanner(pipe)
}

// AwaitLine reads lines until one holds the text.
func AwaitLine(t *testing.T, lines *bufio.Scanner, text string) {
	t.Helper()
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return
		}
	}
	t.Fatalf("it never said %q", text)
}

// Terminate sends SIGTERM and expects a clean end.
func Terminate(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // how it ended is looked at below
	if code := cmd.ProcessState.ExitCode(); code != exit.CodeOK {
		t.Errorf("exit code %d", code)
	}
}
