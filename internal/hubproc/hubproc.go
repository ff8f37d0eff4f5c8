// Package hubproc runs the parley program as a separate process, for tests that need to kill it, or
// to connect to it from outside. [Main] builds the program for the tests of a package, and
// [Program.Start] starts a hub.
package hubproc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/overlay"
)

// Token is the admin token of every hub of Start.
const Token = "plt_test_test"

// startTimeout detects a hub that never accepts calls.
const startTimeout = 2 * time.Minute

// Program is a parley binary.
type Program string

// The environment of tests.
const (
	// ProgramVariable is the path of a program without patches that was built from the same source, so
	// that many test packages link it once.
	ProgramVariable = "PARLEY_TEST_PROGRAM"
	// PatchVariable names a patch of package plants. Each program that a test builds has it.
	PatchVariable = "PARLEY_TEST_PATCH"
)

// Main builds the program with patches of package plants, passes it to use, runs the tests, and
// returns the exit code for os.Exit. Without patches, it uses the program of ProgramVariable.
func Main(m *testing.M, use func(Program), patches ...string) int {
	if p := os.Getenv(ProgramVariable); p != "" && len(patches) == 0 && os.Getenv(PatchVariable) == "" {
		use(Program(p))
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "parley-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	p := Program(filepath.Join(dir, "parley"))
	if err := build(p, "./cmd/parley", patches); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	use(p)
	return m.Run()
}

// BuildTagged builds the program with a build tag, for one test.
func BuildTagged(t testing.TB, tag string) Program {
	t.Helper()
	p := Program(filepath.Join(t.TempDir(), "parley"))
	if err := build(p, "./cmd/parley", nil, "-tags", tag); err != nil {
		t.Fatal(err)
	}
	return p
}

// BuildPatched builds the program with patches of package plants, for one test.
func BuildPatched(t testing.TB, patches ...string) Program {
	t.Helper()
	p := Program(filepath.Join(t.TempDir(), "parley"))
	if err := build(p, "./cmd/parley", patches); err != nil {
		t.Fatal(err)
	}
	return p
}

// BuildPackage builds a main package of the product, such as ./cmd/parley, at a path.
func BuildPackage(path, pkg string) error { return build(Program(path), pkg, nil) }

// build builds a package of the product with the patches, and that of PatchVariable.
func build(program Program, pkg string, patches []string, flags ...string) error {
	root, err := overlay.Root()
	if err != nil {
		return err
	}
	if p := os.Getenv(PatchVariable); p != "" && !slices.Contains(patches, p) {
		patches = append(slices.Clip(patches), p)
	}
	if len(patches) > 0 {
		file, err := overlay.Write(filepath.Dir(string(program)), patches...)
		if err != nil {
			return err
		}
		flags = append(flags, "-overlay", file)
	}
	cmd := exec.Command("go", slices.Concat([]string{"build", "-o", string(program)}, flags, []string{pkg})...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s with the patches %q: %w\n%s", pkg, patches, err, out)
	}
	return nil
}

// Run runs the program, which must exit with code 0, and returns its output.
func (p Program) Run(t testing.TB, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(string(p), withLog(args)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := Run(cmd); err != nil {
		t.Fatalf("parley %s: %v\n%s", strings.Join(args, " "), err, errs.Bytes())
	}
	return out.String()
}

// Run starts a command with Start and waits for its end.
func Run(cmd *exec.Cmd) error {
	if err := Start(cmd); err != nil {
		return err
	}
	return cmd.Wait()
}

// Hub is a running hub. If it still runs at the end of the test, it is killed.
type Hub struct {
	// URL is the address for calls.
	URL string

	cmd    *exec.Cmd
	stderr bytes.Buffer
}

// Start starts a dev hub on dir, with further arguments of serve, and waits until it accepts calls.
func (p Program) Start(t testing.TB, dir string, args ...string) *Hub {
	t.Helper()
	return p.Serve(t, []string{"PARLEY_DEV_TOKEN=" + Token}, append([]string{"--dev", "--data", dir}, args...)...)
}

// Serve starts a hub with additional environment and arguments of serve, and waits until it accepts
// calls.
func (p Program) Serve(t testing.TB, env []string, args ...string) *Hub {
	t.Helper()
	h := &Hub{cmd: exec.Command(string(p), ServeArgs(append([]string{"--listen", "127.0.0.1:0", "-o", "json"},
		args...)...)...)}
	h.cmd.Env = append(os.Environ(), env...)
	h.cmd.Stderr = &h.stderr
	stdout, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := Start(h.cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.cmd.Process.Kill() // does nothing to a dead process
		h.cmd.Wait()
	})
	stuck := time.AfterFunc(startTimeout, func() { h.cmd.Process.Kill() })
	defer stuck.Stop()
	var first struct {
		URL string `json:"url"`
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &first) != nil {
		h.cmd.Wait()
		t.Fatalf("the hub did not start: %v\n%s", err, h.stderr.Bytes())
	}
	h.URL = first.URL
	return h
}

// HTTP returns the base URL of plain HTTP: http://HOST:PORT.
func (h *Hub) HTTP() string {
	return "http" + strings.TrimSuffix(strings.TrimPrefix(h.URL, "ws"), "/rpc")
}

// Pid returns the id of the process.
func (h *Hub) Pid() int { return h.cmd.Process.Pid }

// Stderr returns the output on stderr. Call it after the end of the hub.
func (h *Hub) Stderr() []byte { return h.stderr.Bytes() }

// Kill sends SIGKILL to a hub that must still run.
func (h *Hub) Kill(t testing.TB) {
	t.Helper()
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	h.cmd.Wait()
	if status := h.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the hub ended by itself before it was killed: %v\n%s", h.cmd.ProcessState, h.stderr.Bytes())
	}
}

// Stop sends SIGTERM. The hub must exit with code 0.
func (h *Hub) Stop(t testing.TB) {
	t.Helper()
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Wait(); err != nil {
		t.Fatalf("after SIGTERM: %v\n%s", err, h.stderr.Bytes())
	}
}
