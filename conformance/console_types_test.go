package conformance

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestConsoleTypes: the compiler of TypeScript finds the modules of the console to be what their
// comments say, and to use the protocol as its schemas have it.
func TestConsoleTypes(t *testing.T) {
	t.Parallel()
	s := newStrangers(t, "console")
	tsc := filepath.Join(s.dir, "node_modules", "typescript", "bin", "tsc")
	out, err := exec.CommandContext(t.Context(), s.node, tsc, "-p",
		filepath.Join("..", "adapters", "console", "tsconfig.json")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
