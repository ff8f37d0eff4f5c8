package clitest

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// Patience is how long a test waits for an event that must come. Only a program that hangs takes
// that long.
const Patience = 3 * time.Minute

// Month is the life of the certificates of most tests.
const Month = 30 * 24 * time.Hour

// OpenHub returns a hub on a log in memory, which is closed at the end of the test.
func OpenHub(t *testing.T) *hub.Hub {
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

// FirstLine is the first line that "parley serve -o json" prints.
type FirstLine struct {
	Listening string `json:"listening"`
	URL       string `json:"url"`
	Metrics   string `json:"metrics"`
	Token     string `json:"token"`
	Console   string `json:"console"`
}

// LeaveOut leaves a test out because something is missing. CI must not leave it out.
func LeaveOut(t *testing.T, missing string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is missing, and CI leaves nothing out", missing)
	}
	t.Skipf("LEFT OUT: %s is missing on this machine", missing)
}

// Chmod sets the mode of a file.
func Chmod(t *testing.T, name string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

// Buffer keeps what is logged.
type Buffer struct {
	mu   sync.Mutex // guards the field below
	text strings.Builder
}

func (n *Buffer) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(b)
}

func (n *Buffer) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}
