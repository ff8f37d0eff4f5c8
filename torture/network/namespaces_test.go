package network

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// namespaceOf names one side's network namespace of a process.
func namespaceOf(side string, pid int) string { return fmt.Sprintf("parley-%s-%d", side, pid) }

var ourNamespace = regexp.MustCompile(`^parley-(near|far)-([1-9][0-9]*)$`)

// forgetNamespaces deletes what processes that are gone have left: those that were killed could not. This process must have none.
func forgetNamespaces(t *testing.T) {
	t.Helper()
	for _, name := range staleNamespaces(namespaces(t), gone) {
		if out, err := exec.Command("ip", "netns", "del", name).CombinedOutput(); err != nil {
			t.Logf("the network namespace %s of a process that is gone: %v: %s", name, err, out) // or another run was faster
		}
	}
}

func namespaces(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("ip", "netns", "list").Output()
	if err != nil {
		t.Logf("ip netns list: %v", err) // newLink says what is missing
	}
	return string(out)
}

// staleNamespaces gives those of a list, as of ip netns list, whose process is gone.
func staleNamespaces(list string, gone func(pid int) bool) (names []string) {
	for line := range strings.Lines(list) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ") // (id: 0) may follow
		m := ourNamespace.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		if pid, err := strconv.Atoi(m[2]); err == nil && gone(pid) {
			names = append(names, name)
		}
	}
	return names
}

// gone reports whether a process has ended. This process has no namespace yet: one that has its number is of one before it.
func gone(pid int) bool {
	return pid == os.Getpid() || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// TestStaleNamespaces: what a process that is gone has made is ours to delete, and nothing else.
func TestStaleNamespaces(t *testing.T) {
	const list = "parley-near-11 (id: 0)\nparley-far-11\nparley-near-12\nparley-near-\nparley-near-011\nmy-parley-near-11\nparley-near-11-mine\ncni-11\n"
	got := staleNamespaces(list, func(pid int) bool { return pid != 12 })
	if want := []string{"parley-near-11", "parley-far-11"}; !slices.Equal(got, want) {
		t.Errorf("%q are stale, expected %q", got, want)
	}
}

// TestForgetNamespaces makes a namespace of a process that has ended, and one of a process that has not.
func TestForgetNamespaces(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("left out: needs root")
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	dead, alive := namespaceOf("near", ended.Process.Pid), namespaceOf("far", os.Getppid())
	for _, name := range []string{dead, alive} {
		if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
			t.Skipf("left out: needs network namespaces: %v: %.200s", err, out)
		}
		t.Cleanup(func() { exec.Command("ip", "netns", "del", name).Run() })
	}
	forgetNamespaces(t)
	if left := namespaces(t); strings.Contains(left, dead) || !strings.Contains(left, alive) {
		t.Errorf("there are %q, expected %s without %s", left, alive, dead)
	}
}
