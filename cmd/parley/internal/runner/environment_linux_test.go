package runner

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
)

// noUser is the id of a user without rights. The tests may run as root, which reads everything.
const noUser = 65534

// TestProgramCannotReadTheToken: other processes of the same user cannot read the environment of
// "parley run", which has the token.
func TestProgramCannotReadTheToken(t *testing.T) {
	t.Parallel()
	hub, first, _ := clitest.StartDevHub(t)
	defer func() {
		hub.Process.Kill()
		hub.Wait()
	}()
	binary := program(t)
	parley := func(args ...string) *exec.Cmd {
		cmd := exec.Command(binary, args...)
		cmd.Env = append(os.Environ(), "PARLEY_URL="+first.URL, "PARLEY_TOKEN="+first.Token)
		return cmd
	}
	do := func(args ...string) string {
		out, err := parley(args...).CombinedOutput()
		if err != nil {
			t.Fatalf("parley %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	do("conversation", "create", "--id", "talk", "--participant", "ann:human", "--participant", "bot:agent")
	do("send", "talk", "what do you see?", "--as", "ann")

	run := parley("run", "--agent", "bot", "--", "sh", "-c", `cat /proc/$PPID/environ >&2; echo '{"text":"done"}'`)
	var errs bytes.Buffer
	run.Stderr, run.Dir = &errs, "/"
	if os.Getuid() == 0 {
		run.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: noUser, Gid: noUser}}
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	seen := ""
	for end := time.Now().Add(clitest.Patience); !strings.Contains(seen, "bot  done") &&
		time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		seen = do("tail", "talk")
	}
	run.Process.Signal(syscall.SIGTERM)
	run.Wait() // how it ended is of no interest here
	if strings.Contains(seen, first.Token) || !strings.Contains(seen, "Permission denied") ||
		!strings.Contains(seen, "bot  done") {
		t.Errorf("the program has seen more than it should, or did not look:\n%s\n%s", seen, errs.String())
	}
}

// program returns a name of the program under which every user may run it.
func program(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("parley")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "parley")
	if err := os.Link(path, link); err != nil {
		t.Fatal(err)
	}
	return link
}
