package disks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestLeftOut: where there are fewer loop devices than disks the test is left out, and does not
// fail.
func TestLeftOut(t *testing.T) {
	Need(t)
	mount, err := exec.LookPath("mount")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	once := filepath.Join(dir, "once")
	script := fmt.Sprintf("#!/bin/sh\nif test -e %[1]s; then echo no loop device >&2; exit 32; fi\ntouch %[1]s\nexec %[2]s \"$@\"\n", once, mount)
	if err := os.WriteFile(filepath.Join(dir, "mount"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	var left bool
	t.Run("left", func(t *testing.T) {
		defer func() { left = t.Skipped() }()
		Several(t, 2)
	})
	if !left {
		t.Error("the test was not left out")
	}
	if _, err := os.Stat(once); err != nil {
		t.Errorf("no disk was mounted: this shows nothing: %v", err)
	}
}
