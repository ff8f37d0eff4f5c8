package files

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWholeFileCounts: every byte that is written is counted, however it is written.
func TestWholeFileCounts(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "f")
	f, err := Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Discard()
	if _, err := io.Copy(f, struct{ io.Reader }{strings.NewReader("the content")}); err != nil {
		t.Fatal(err)
	}
	if f.Bytes != 11 {
		t.Errorf("%d bytes are counted", f.Bytes)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "the content" {
		t.Errorf("%q, %v", b, err)
	}
}
