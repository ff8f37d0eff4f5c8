package commands

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/baseline"
)

// TestBaseline reads with 'parley log' what earlier versions wrote.
// See rpc/testdata/baseline/README.md.
func TestBaseline(t *testing.T) {
	t.Parallel()
	versions, err := filepath.Glob("../../../../rpc/testdata/baseline/v*")
	if err != nil || len(versions) == 0 {
		t.Fatalf("baselines %v: %v", versions, err)
	}
	for _, dir := range versions {
		t.Run(filepath.Base(dir), func(t *testing.T) { readBaseline(t, dir) })
	}
}

func readBaseline(t *testing.T, dir string) {
	data := baseline.Unpack(t, filepath.Join(dir, "data"))
	backup, export := filepath.Join(dir, "backup.jsonl"), filepath.Join(dir, "export.jsonl")
	lines, err := os.ReadFile(export)
	if err != nil {
		t.Fatal(err)
	}
	parley := func(args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if code := Run(t.Context(), args, strings.NewReader(""), &stdout, &stderr); code != 0 {
			t.Fatalf("parley %s: exit code %d\n%s", strings.Join(args, " "), code, &stderr)
		}
		return stdout.String()
	}
	exports := func(data string) {
		t.Helper()
		parley("log", "verify", "--data", data)
		if parley("log", "export", "--data", data) != string(lines) {
			t.Errorf("the export of %s differs from %s", data, export)
		}
	}
	exports(data)
	parley("log", "compact", "--data", data)
	exports(data)
	for _, file := range []string{export, backup} {
		imported := filepath.Join(t.TempDir(), "data")
		parley("log", "verify", file)
		parley("log", "import", "--data", imported, file)
		exports(imported)
	}
}
