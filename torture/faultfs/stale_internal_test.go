//go:build linux

package faultfs

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// It is inside the package because Mount forgets once in a process only.

// envMount has a test process mount a file system and be killed.
const envMount = "PARLEY_TEST_MOUNT"

// TestStaleMounts: what a process that is gone has mounted is ours to unmount, and nothing else.
func TestStaleMounts(t *testing.T) {
	const table = `22 27 0:20 / /proc rw,nosuid shared:12 - proc proc rw
301 27 0:51 / /tmp/dead rw,nosuid,nodev shared:9 - fuse.faultfs faultfs-11 rw,user_id=0
302 27 0:52 / /tmp/alive rw,nosuid,nodev - fuse.faultfs faultfs-12 rw,user_id=0
303 27 0:53 / /tmp/a\040b\134c rw - fuse.faultfs faultfs-11 rw
304 27 0:54 / /tmp/other rw - fuse.sshfs faultfs-11 rw
305 27 0:55 / /tmp/old rw - fuse.faultfs faultfs rw
306 27 0:56 / /tmp/odd rw - fuse.faultfs faultfs-0 rw
307 27 0:57 / /tmp/none rw - fuse.faultfs faultfs--11 rw
308 27 0:58
`
	got := staleMounts(table, func(pid int) bool { return pid != 12 })
	if want := []string{"/tmp/dead", `/tmp/a b\c`}; !slices.Equal(got, want) {
		t.Errorf("%q is stale, expected %q", got, want)
	}
}

// TestForgetStale kills a process that has mounted a file system, and lets the next Mount find it.
func TestForgetStale(t *testing.T) {
	if missing := Missing(); missing != "" {
		t.Skip("left out: needs " + missing)
	}
	if dir := os.Getenv(envMount); dir != "" {
		fmt.Println("MOUNTED", Mount(t, dir).Dir)
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestForgetStale$")
	cmd.Env = append(os.Environ(), envMount+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var dir string
	for lines := bufio.NewScanner(out); dir == "" && lines.Scan(); {
		_, dir, _ = strings.Cut(lines.Text(), "MOUNTED ")
	}
	alive := stale(t)
	cmd.Process.Kill()
	cmd.Wait()
	t.Cleanup(func() { os.RemoveAll(filepath.Dir(dir)) })
	if left := stale(t); slices.Contains(alive, dir) || !slices.Contains(left, dir) {
		t.Fatalf("of a process that is killed %q is left; while it lived %q was, expected %q then only", left, alive, dir)
	}
	forgetStale()
	if left := stale(t); len(left) > 0 {
		t.Errorf("still mounted: %q", left)
	}
}

func stale(t *testing.T) []string {
	t.Helper()
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return staleMounts(string(table), gone)
}
