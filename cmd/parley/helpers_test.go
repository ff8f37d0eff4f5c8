package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// patience is how long a test waits for an event that must come. Only a program that hangs takes that long.
const patience = 3 * time.Minute

// aMonth is the life of the certificates of most tests.
const aMonth = 30 * 24 * time.Hour

// openHub returns a hub on a log in memory, which is closed at the end of the test.
func openHub(t *testing.T) *hub.Hub {
	t.Helper()
	h, err := hub.Open(memory.New(), &hub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// firstLine is the first line that "parley serve -o json" prints.
type firstLine struct {
	Listening string `json:"listening"`
	URL       string `json:"url"`
	Metrics   string `json:"metrics"`
	Token     string `json:"token"`
	Console   string `json:"console"`
}

// startMemory gives a server on a log in memory that is closed at the end of the test.
func startMemory(t *testing.T) *server {
	t.Helper()
	s, err := startServer(serverOptions{journal: memory.New(), addr: "127.0.0.1:0", log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// startServe runs "parley serve --dev", with further arguments, and gives what it says first and its stderr. It ends with the test at the latest.
func startServe(t *testing.T, args ...string) (cmd *exec.Cmd, first firstLine, stderr io.Reader) {
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
	stuck := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	t.Cleanup(func() {
		cmd.Process.Kill() // does nothing to a process that has ended
		cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &first) != nil {
		t.Fatalf("serve said %q, %v", line, err)
	}
	return cmd, first, stderr
}

// leaveOut leaves a test out because something is missing. CI must not leave it out.
func leaveOut(t *testing.T, missing string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is missing, and CI leaves nothing out", missing)
	}
	t.Skipf("LEFT OUT: %s is missing on this machine", missing)
}

func chmod(t *testing.T, name string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}
