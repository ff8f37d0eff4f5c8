package netns

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// NameOf returns the name of the network namespace of one side of a process.
func NameOf(side string, pid int) string { return fmt.Sprintf("parley-%s-%d", side, pid) }

var ours = regexp.MustCompile(`^parley-[a-z0-9]+-([1-9][0-9]*)$`)

// Forget deletes what processes that are gone have left: those that were killed could not. This
// process must have none.
func Forget(t testing.TB) {
	t.Helper()
	for _, name := range stale(list(t), gone) {
		if out, err := exec.Command("ip", "netns", "del", name).CombinedOutput(); err != nil {
			t.Logf("the network namespace %s of a process that is gone: %v: %s", name, err, out) // or another run was faster
		}
	}
}

func list(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("ip", "netns", "list").Output()
	if err != nil {
		t.Logf("ip netns list: %v", err) // who makes one says what is missing
	}
	return string(out)
}

// stale returns the namespaces of a list of ip netns list whose process no longer exists.
func stale(list string, gone func(pid int) bool) (names []string) {
	for line := range strings.Lines(list) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ") // (id: 0) may follow
		m := ours.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		if pid, err := strconv.Atoi(m[1]); err == nil && gone(pid) {
			names = append(names, name)
		}
	}
	return names
}

// gone reports whether a process has exited. This process has no namespace yet, so a name with its
// id is of an earlier process.
func gone(pid int) bool {
	return pid == os.Getpid() || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
