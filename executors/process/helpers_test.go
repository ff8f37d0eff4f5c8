//go:build linux

package process_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/process"
)

// TestMain runs the tests, a supervisor, or one of the programs of the tests: "program NAME
// ARGS...".
func TestMain(m *testing.M) {
	process.Supervise()
	if len(os.Args) > 2 && os.Args[1] == "program" {
		syscall.Exit(programs[os.Args[2]](os.Args[3:])) // at once, because the normal exit takes a second with the race detector
	}
	if err := openUnmarked(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// openUnmarked opens a file that is not close-on-exec. A process may inherit such a file.
func openUnmarked() error {
	f, err := os.Open("/")
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = syscall.Dup(int(f.Fd()))
	return err
}

// both runs a test with supervisors and without.
func both(t *testing.T, test func(t *testing.T)) {
	t.Run("supervised", test)
	t.Run("alone", func(t *testing.T) {
		process.WithoutSupervisors(t)
		test(t)
	})
}

// newPool returns a pool that is closed at the end of the test. It must leave no file and no child.
func newPool(t testing.TB) *process.Pool {
	t.Helper()
	files, before := openFiles(t), children(t)
	p := new(process.Pool)
	t.Cleanup(func() {
		p.Close()
		for _, pid := range children(t) {
			if !slices.Contains(before, pid) {
				t.Errorf("child %d is left", pid)
			}
		}
		if now := openFiles(t); now > files { // fewer are fine, because files of an earlier test may be closed meanwhile
			t.Errorf("%d files are open, but %d before", now, files)
		}
	})
	return p
}

func openFiles(t testing.TB) int {
	t.Helper()
	r, w, err := os.Pipe() // makes Go open its poller
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.Close()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// children returns the children of this process, including zombies.
func children(t testing.TB) (all []int) {
	t.Helper()
	for _, pid := range pids(t) {
		if parent(pid) == os.Getpid() {
			all = append(all, pid)
		}
	}
	return all
}

// parent returns the parent of a process, or 0 if the process does not exist.
func parent(pid int) int {
	n, _ := strconv.Atoi(status(pid, "PPid"))
	return n
}

// alive reports whether a process lives. Zombies do not count, because a slow parent may not reap
// them yet. A process with a live thread is not a zombie.
func alive(pid int) bool {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		tid, _ := strconv.Atoi(task.Name())
		if state := status(tid, "State"); state != "" && state[0] != 'Z' && state[0] != 'X' {
			return true
		}
	}
	return false
}

func status(pid int, name string) string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	_, after, _ := strings.Cut(string(text), "\n"+name+":\t")
	line, _, _ := strings.Cut(after, "\n")
	return line
}

func pids(t testing.TB) (all []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// newMark returns a variable that marks the processes of one program. All of them inherit it.
func newMark() string { return "PROCESS_TEST_MARK=" + rand.Text() }

// marked returns the live processes with a mark.
func marked(t testing.TB, mark string) (found []int) {
	t.Helper()
	for _, pid := range pids(t) {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // empty for a zombie
		if err == nil && slices.Contains(strings.Split(string(env), "\x00"), mark) {
			found = append(found, pid)
		}
	}
	return found
}

// noneLeft checks that no process with a mark lives. Without supervisors, killed processes may live
// for a moment.
func noneLeft(t testing.TB, mark string) {
	t.Helper()
	if !process.Enabled() {
		await(t, "all are dead", func() bool { return len(marked(t, mark)) == 0 })
	}
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("%d processes are left: %v", len(left), left)
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// await waits until a condition is true.
func await(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(inTime); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

// script returns a Spec for sh, with PATH and the mark.
func script(text, mark string, args ...string) *process.Spec {
	return &process.Spec{
		Argv: append([]string{"sh", "-c", text, "sh"}, args...),
		Env:  []string{"PATH=" + os.Getenv("PATH"), mark},
	}
}

// program returns a Spec for a program of these tests.
func program(t testing.TB, name string, args ...string) *process.Spec {
	t.Helper()
	return &process.Spec{Argv: append([]string{executable(t), "program", name}, args...), Env: []string{}}
}

func executable(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func start(t testing.TB, p *process.Pool, s *process.Spec) *process.Process {
	t.Helper()
	return startCtx(t, t.Context(), p, s)
}

func startCtx(t testing.TB, ctx context.Context, p *process.Pool, s *process.Spec) *process.Process {
	t.Helper()
	r, err := p.Start(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// output runs a program that must succeed, and returns its stdout.
func output(t testing.TB, p *process.Pool, s *process.Spec) string {
	t.Helper()
	var out, errs bytes.Buffer
	s.Stdout, s.Stderr = &out, &errs
	if err := start(t, p, s).Wait(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	return out.String()
}

// heard is an output that can be read while the program runs.
type heard struct {
	lines chan string
	rest  string
}

func newHeard() *heard { return &heard{lines: make(chan string, 1000)} }

func (h *heard) Write(b []byte) (int, error) {
	h.rest += string(b)
	for {
		line, after, found := strings.Cut(h.rest, "\n")
		if !found {
			return len(b), nil
		}
		h.lines <- line
		h.rest = after
	}
}

// line returns the next line.
func (h *heard) line(t testing.TB) string {
	t.Helper()
	select {
	case l := <-h.lines:
		return l
	case <-time.After(inTime):
		t.Fatal("the program says nothing")
		return ""
	}
}

// number returns the next line, which must be a number.
func (h *heard) number(t testing.TB) int {
	t.Helper()
	n, err := strconv.Atoi(h.line(t))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// programs are the programs of the tests. They return the exit code.
var programs = map[string]func(args []string) int{"look": look, "leave": leave, "runner": runner, "rooted": rooted,
	"resisted": resisted}

// look prints its environment.
func look(args []string) int {
	for _, a := range args {
		fmt.Printf("arg %.50q of %d\n", a, len(a))
	}
	for _, v := range os.Environ() {
		fmt.Printf("env %q\n", v)
	}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		to, _ := os.Readlink("/proc/self/fd/" + e.Name())
		if to != "" && !strings.HasPrefix(to, "/proc/") && !strings.HasPrefix(to, "/sys/") &&
			!strings.HasPrefix(to, "anon_inode:") {
			to, _, _ = strings.Cut(to, ":")
			fmt.Printf("file %s %s\n", e.Name(), to)
		}
	}
	dir, _ := os.Getwd()
	fmt.Printf("dir %s\nleader %v\n", dir, syscall.Getpgrp() == os.Getpid())
	if tty, err := os.Open("/dev/tty"); err == nil {
		tty.Close()
		fmt.Println("it has a terminal")
	}
	return 0
}

// leave leaves a process that left the session, and prints its pid. It then ends in the middle of a
// double fork ("daemon"), stays ("stay"), or exits with the given code.
func leave(args []string) int {
	if args[0] == "daemon" {
		cmd := exec.Command(os.Args[0], "program", "leave", "0")
		cmd.Stdout, cmd.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return 98
		}
		cmd.Wait() // returns after the child of the command started
		return 0
	}
	cmd := exec.Command("sleep", "600")
	cmd.Stdout, cmd.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 99
	}
	fmt.Println(cmd.Process.Pid)
	if args[0] == "stay" {
		time.Sleep(10 * time.Minute)
	}
	code, _ := strconv.Atoi(args[0])
	return code
}

// runner runs the program leave and stays: MARK
func runner(args []string) int {
	var p process.Pool
	path, _ := os.Executable()
	r, err := p.Start(context.Background(), &process.Spec{
		Argv: []string{path, "program", "leave", "stay"}, Env: []string{"PATH=" + os.Getenv("PATH"), args[0]},
		Stdout: os.Stdout,
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	r.Wait() // the test kills this process before
	return 0
}

// rooted becomes root if it may, and stays.
func rooted([]string) int {
	if err := syscall.Setuid(0); err != nil {
		fmt.Println(err)
		return 1
	}
	time.Sleep(10 * time.Minute)
	return 0
}

// resisted runs a program that ends and leaves a process that became root. PATH is its binary. It
// prints the result.
func resisted(args []string) int {
	var p process.Pool
	defer p.Close()
	r, err := p.Start(context.Background(), &process.Spec{
		Argv: []string{"sh", "-c",
			`setsid "$0" program rooted & echo $!; while [ -d /proc/$! ]; do grep -q "^Uid:.0.0" /proc/$!/status && echo ` +
				`root && exit; sleep 0.05; done`, args[0]}, Env: []string{"PATH=" + os.Getenv("PATH")}, Stdout: os.Stdout,
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ended:", r.Wait())
	if r, err = p.Start(context.Background(), &process.Spec{Argv: []string{"true"}}); err == nil {
		err = r.Wait()
	}
	fmt.Println("the next:", err)
	return 0
}

// copied returns a path under which every user may run this binary, with the given mode.
func copied(t testing.TB, mode os.FileMode) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(executable(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "program")
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}
