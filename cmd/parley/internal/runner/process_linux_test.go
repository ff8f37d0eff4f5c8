package runner

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
)

// snoop is a blueprint whose command looks into the environment of a process that a file names, and
// into its own.
const snoop = `name: snoop
argv: [sh, -c, 'cat /proc/$(cat pid)/environ 2>&1; env']
parameters_schema: {type: object}
`

// TestCommandCannotReadTheRunner: the environment of a runner, where its token is, is not shown to
// commands.
func TestCommandCannotReadTheRunner(t *testing.T) {
	t.Parallel()
	hub, first, _ := clitest.StartDevHub(t)
	t.Cleanup(func() { // after the runner, which leaves it
		hub.Process.Kill()
		hub.Wait()
	})
	s := newSnoop(t, first)
	s.start(t, "run", "--blueprints", s.dir)
	s.check(t)
}

// TestCommandCannotReadTheHub: the same for a hub that runs commands itself.
func TestCommandCannotReadTheHub(t *testing.T) {
	t.Parallel()
	s := newSnoop(t, clitest.FirstLine{Token: "plt_dev_of_the_hub"})
	ready := filepath.Join(s.dir, "ready")
	s.start(t, "serve", "--dev", "--listen", ":0", "--ready-file", ready, "--blueprints", s.dir)
	for end := time.Now().Add(clitest.Patience); s.hub.URL == ""; time.Sleep(10 * time.Millisecond) {
		line, _ := os.ReadFile(ready) // it is there when the hub is
		s.hub.URL = strings.TrimSpace(strings.TrimPrefix(string(line), "listening on "))
		if time.Now().After(end) {
			t.Fatalf("the hub is never ready: %s", s.said())
		}
	}
	s.check(t)
}

// snooping is a directory with a blueprint that snoops, and a program that every user may run.
type snooping struct {
	binary, dir string
	hub         clitest.FirstLine
	stderr      string // the name of a file
}

func newSnoop(t *testing.T, hub clitest.FirstLine) *snooping {
	t.Helper()
	s := &snooping{binary: program(t), hub: hub, stderr: filepath.Join(t.TempDir(), "stderr")}
	s.dir = filepath.Join(filepath.Dir(s.binary), "bp")
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.dir, 0o777); err != nil { // whatever the umask
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "snoop.yaml"), []byte(snoop), 0o644); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *snooping) command(args ...string) *exec.Cmd {
	c := exec.Command(s.binary, args...)
	c.Env = append(os.Environ(), "PARLEY_DEV_TOKEN="+s.hub.Token, "PARLEY_TOKEN="+s.hub.Token, "PARLEY_URL="+s.hub.URL)
	return c
}

// start runs the program as a user without rights, until the end of the test, and writes its
// process id where the command finds it.
func (s *snooping) start(t *testing.T, args ...string) {
	t.Helper()
	stderr, err := os.Create(s.stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	p := s.command(args...)
	p.Stderr, p.Dir = stderr, "/"
	if os.Getuid() == 0 {
		p.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: noUser, Gid: noUser}}
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Process.Signal(syscall.SIGTERM) // fails if the process ended
		p.Wait()
	})
	if err := os.WriteFile(filepath.Join(s.dir, "pid"), fmt.Append(nil, p.Process.Pid), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (s *snooping) said() string {
	text, _ := os.ReadFile(s.stderr)
	return string(text)
}

// check starts the command, as soon as it is there, and looks at what it has seen.
func (s *snooping) check(t *testing.T) {
	t.Helper()
	var out []byte
	var err error
	for end := time.Now().Add(clitest.Patience); ; time.Sleep(20 * time.Millisecond) {
		if out, err = s.command("start", "snoop").CombinedOutput(); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%v: %s\n%s", err, out, s.said())
		}
	}
	seen := string(out)
	if strings.Contains(seen, s.hub.Token) || !strings.Contains(seen, "Permission denied") ||
		!strings.Contains(seen, "PARLEY_TOKEN=plc_ses_") {
		t.Errorf("the command has seen more than it should, or did not look: %q", seen)
	}
}
