package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startServeWith starts "parley serve" with these flags and the environment besides, and gives what it says first and its stderr.
func startServeWith(t *testing.T, environ []string, args ...string) (cmd *exec.Cmd, first firstLine, stderr *bufio.Scanner) {
	t.Helper()
	cmd = exec.Command("parley", append([]string{"serve", "-o", "json", "--listen", ":0"}, args...)...)
	cmd.Env = append(os.Environ(), environ...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	t.Cleanup(func() {
		cmd.Process.Kill() // does nothing to a process that has ended
		cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &first) != nil {
		said, _ := io.ReadAll(pipe)
		t.Fatalf("serve said %q, %v: %s", line, err, said)
	}
	return cmd, first, bufio.NewScanner(pipe)
}

// await reads lines until one holds the text.
func await(t *testing.T, lines *bufio.Scanner, text string) {
	t.Helper()
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return
		}
	}
	t.Fatalf("it never said %q", text)
}

// terminate sends SIGTERM and expects a clean end.
func terminate(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // how it ended is looked at below
	if code := cmd.ProcessState.ExitCode(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// TestServiceManagerIsTold: a unit of Type=notify hears that the hub takes calls, renews its parts and stops.
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
		manager.SetReadDeadline(time.Now().Add(patience))
		n, err := manager.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	cmd, first, lines := startServeWith(t, []string{"NOTIFY_SOCKET=" + socket}, "--dev")
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
	await(t, lines, "other settings need a restart")
	terminate(t, cmd)
	if got := told(); got != "STOPPING=1" {
		t.Errorf("told %q last", got)
	}
}

// TestManagerThatIsGone: a hub runs also where nobody hears it.
func TestManagerThatIsGone(t *testing.T) {
	t.Parallel()
	cmd, _, lines := startServeWith(t, []string{"NOTIFY_SOCKET=" + filepath.Join(t.TempDir(), "nobody")}, "--dev")
	await(t, lines, "the service manager cannot be told")
	terminate(t, cmd)
}

// TestHangupOpensTheAuditLogAnew: a log that was moved away is left as it is; one that cannot be opened keeps the one from before.
func TestHangupOpensTheAuditLogAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "audit.log")
	cmd, first, lines := startServeWith(t, nil, "--dev", "--audit-log", name)
	refuse := func() {
		t.Helper()
		r, err := http.NewRequest("POST", "http://"+first.Listening+"/rpc", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
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
		await(t, lines, text)
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
	hangup("was opened anew")
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
	terminate(t, cmd)
}

// TestMetricsHaveADoorOfTheirOwn: it serves /metrics without a token, and nothing else.
func TestMetricsHaveADoorOfTheirOwn(t *testing.T) {
	t.Parallel()
	cmd, first, _ := startServeWith(t, nil, "--dev", "--metrics-listen", ":0")
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
	terminate(t, cmd)
}
