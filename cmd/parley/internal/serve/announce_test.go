package serve

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestReadyFileIsWhole: who opened the ready file of before reads no half of the new one, and
// nothing else is left beside it.
func TestReadyFileIsWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "ready")
	if err := writeReady(name, "old\n"); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := writeReady(name, "listening\n"); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(reader); err != nil || string(b) != "old\n" {
		t.Errorf("the file was changed under its reader: %q, %v", b, err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "listening\n" {
		t.Errorf("%q, %v", b, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}
