package netns

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/promise"
)

// Need leaves a test out that is about some promises and cannot have network namespaces, and else
// deletes what others have left.
func Need(t testing.TB, ids ...promise.ID) {
	t.Helper()
	if os.Geteuid() != 0 {
		promise.Left(t, "needs root: network namespaces", ids...)
	}
	if _, err := exec.LookPath("ip"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("the program ip is missing, and CI leaves nothing out")
		}
		promise.Left(t, "needs the program ip: network namespaces", ids...)
	}
	Forget(t)
	name := NameOf("try", os.Getpid())
	if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
		promise.Left(t, fmt.Sprintf("needs network namespaces: %v: %.200s", err, out), ids...)
	}
	out, err := exec.Command("ip", "-n", name, "link", "add", "near", "type", "veth", "peer", "name",
		"far").CombinedOutput()
	IP(t, "netns", "del", name)
	if err != nil {
		promise.Left(t, fmt.Sprintf("needs the kernel's veth: %v: %.200s", err, out), ids...)
	}
}

// IP runs the program ip.
func IP(t testing.TB, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %v: %v\n%s", args, err, out)
	}
}

// batch runs commands of ip within a namespace, in one process.
func batch(t testing.TB, namespace string, lines []string) {
	t.Helper()
	if len(lines) == 0 {
		return
	}
	cmd := exec.Command("ip", "-n", namespace, "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("in %s: ip %q: %v\n%s", namespace, lines, err, out)
	}
}
