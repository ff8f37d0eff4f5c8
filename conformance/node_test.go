package conformance

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/hubproc"
)

var program hubproc.Program

// patience is how long a test waits for something before it calls it stuck. It bounds no speed.
const patience = 5 * time.Minute

func TestMain(m *testing.M) {
	code := hubproc.Main(m, func(p hubproc.Program) { program = p })
	chromium.close()
	os.Exit(code)
}

// TestNode plays testdata/client.mjs, which uses Node's own WebSocket, fetch and SHA-256.
func TestNode(t *testing.T) {
	t.Parallel()
	node := require(t, "node")
	h := program.Start(t, t.TempDir())
	cmd := exec.Command(node, "--experimental-websocket", "--no-warnings", filepath.Join("testdata", "client.mjs"))
	cmd.Env = append(os.Environ(), "PARLEY_URL="+h.URL, "PARLEY_TOKEN="+hubproc.Token)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", bytes.TrimSpace(out))
	if err != nil {
		t.Fatal(err)
	}
	h.Stop(t)
}

// require finds a program, or leaves the test out.
func require(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		leaveOut(t, name)
	}
	return path
}

// leaveOut leaves a test out because something is missing. CI must not leave it out.
func leaveOut(t *testing.T, missing string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is missing, and CI leaves nothing out", missing)
	}
	t.Skipf("LEFT OUT: %s is missing on this machine", missing)
}
