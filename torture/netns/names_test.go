package netns

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestStale: what a process that is gone made is ours to delete, and nothing else.
func TestStale(t *testing.T) {
	const list = "parley-near-11 (id: 0)\nparley-far-11\nparley-hub1-11\nparley-near-12\nparley-near-\nparley-near-011\nmy-parley-near-11\nparley-near-11-mine\ncni-11\n"
	got := stale(list, func(pid int) bool { return pid != 12 })
	if want := []string{"parley-near-11", "parley-far-11", "parley-hub1-11"}; !slices.Equal(got, want) {
		t.Errorf("%q are stale, expected %q", got, want)
	}
}

// TestForget makes a namespace of a process that ended, and one of a process that has not.
func TestForget(t *testing.T) {
	Need(t)
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	dead, alive := NameOf("near", ended.Process.Pid), NameOf("far", os.Getppid())
	for _, name := range []string{dead, alive} {
		if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		t.Cleanup(func() { exec.Command("ip", "netns", "del", name).Run() })
	}
	Forget(t)
	if left := list(t); strings.Contains(left, dead) || !strings.Contains(left, alive) {
		t.Errorf("there are %q, expected %s without %s", left, alive, dead)
	}
}
