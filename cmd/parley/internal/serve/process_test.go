package serve

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
)

// TestServiceManagerIsTold: a unit of Type=notify hears that the hub takes calls, renews its parts
// and stops.
func TestServiceManagerIsTold(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	told := func() string {
		b := make([]byte, 1024)
		manager.SetReadDeadline(time.Now().Add(clitest.Patience))
		n, err := manager.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	cmd, first, lines := clitest.StartHub(t, []string{"NOTIFY_SOCKET=" + socket}, "--dev")
	if got := told(); got != "READY=1" {
		t.Errorf("told %q first", got)
	}
	if r, err := http.Get("http://" + first.Listening + "/readyz"); err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("told READY, and it answers %v, %v", r, err)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if got := told(); !strings.HasPrefix(got, "RELOADING=1\nMONOTONIC_USEC=") {
		t.Errorf("told %q at SIGHUP", got)
	}
	if got := told(); got != "READY=1" {
		t.Errorf("told %q after SIGHUP", got)
	}
	clitest.AwaitLine(t, lines, "other settings need a restart")
	clitest.Terminate(t, cmd)
	if got := told(); got != "STOPPING=1" {
		t.Errorf("told %q last", got)
	}
}

// TestManagerThatIsGone: a hub also runs without a service manager that listens.
func TestManagerThatIsGone(t *testing.T) {
	t.Parallel()
	cmd, _, lines := clitest.StartHub(t, []string{"NOTIFY_SOCKET=" + filepath.Join(t.TempDir(), "nobody")}, "--dev")
	clitest.AwaitLine(t, lines, "the service manager cannot be notified")
	clitest.Terminate(t, cmd)
}

// TestHangupOpensTheAuditLogAnew: a log that was moved away is left as it is; one that cannot be
// opened keeps the one from before.
func TestHangupOpensTheAuditLogAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "audit.log")
	cmd, first, lines := clitest.StartHub(t, nil, "--dev", "--audit-log", name)
	refuse := func() {
		t.Helper()
		r, err := http.NewRequest("POST", "http://"+first.Listening+"/rpc",
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer plt_no_canary")
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	hangup := func(text string) {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		clitest.AwaitLine(t, lines, text)
	}
	held := func(name string) int {
		t.Helper()
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "canary") {
			t.Error("the audit log holds a secret")
		}
		return strings.Count(string(text), "\n")
	}
	refuse()
	moved := name + ".1"
	if err := os.Rename(name, moved); err != nil {
		t.Fatal(err)
	}
	before := held(moved)
	if before == 0 {
		t.Error("a refusal is not in the audit log")
	}
	hangup("were opened again")
	refuse()
	if held(moved) != before || held(name) == 0 {
		t.Errorf("%d lines in the log from before, of %d; %d in the new one", held(moved), before, held(name))
	}

	if err := os.Rename(name, moved); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	before = held(moved)
	hangup("is no regular file")
	refuse()
	if held(moved) <= before {
		t.Error("nothing came into the log from before, and the new one could not be opened")
	}
	clitest.Terminate(t, cmd)
}

// TestMetricsHaveADoorOfTheirOwn: it serves /metrics without a token, and nothing else.
func TestMetricsHaveADoorOfTheirOwn(t *testing.T) {
	t.Parallel()
	cmd, first, _ := clitest.StartHub(t, nil, "--dev", "--metrics-listen", ":0")
	status := func(url string) int {
		r, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		return r.StatusCode
	}
	base := strings.TrimSuffix(first.Metrics, "/metrics")
	for url, want := range map[string]int{
		first.Metrics:                            http.StatusOK,
		base + "/":                               http.StatusNotFound,
		base + "/rpc":                            http.StatusNotFound,
		base + "/livez":                          http.StatusNotFound,
		"http://" + first.Listening + "/livez":   http.StatusOK,
		"http://" + first.Listening + "/metrics": http.StatusUnauthorized,
	} {
		if got := status(url); got != want {
			t.Errorf("%s: %d, expected %d", url, got, want)
		}
	}
	clitest.Terminate(t, cmd)
}
