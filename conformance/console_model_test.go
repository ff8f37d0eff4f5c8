package conformance

import (
	"bytes"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestConsoleModel plays testdata/console/model.mjs: what the console makes of a log, without a
// page.
func TestConsoleModel(t *testing.T) {
	t.Parallel()
	node := require(t, "node")
	page, err := filepath.Abs(filepath.Join("..", "adapters", "console", "page", "js"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "--no-warnings", "--test", "--test-reporter=spec",
		filepath.Join("testdata", "console", "model.mjs"))
	cmd.Env = append(os.Environ(), "PAGE="+(&url.URL{Scheme: "file", Path: filepath.ToSlash(page)}).String())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, bytes.TrimSpace(out))
	}
}
