//go:build linux

package process_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/process"
)

// supervisorOf returns the pid of the supervisor that runs the next program.
func supervisorOf(t testing.TB, p *process.Pool) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(output(t, p, script("echo $PPID", newMark()))))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// A supervisor runs one program after another.
func TestReuse(t *testing.T) {
	p := newPool(t)
	one := supervisorOf(t, p)
	for range 5 {
		if next := supervisorOf(t, p); next != one {
			t.Errorf("supervisor %d after %d", next, one)
		}
	}
	said := newHeard()
	s := script("echo $PPID; sleep 600", newMark())
	s.Stdout = said
	r := start(t, p, s)
	if first, second := said.number(t), supervisorOf(t, p); first != one || second == one {
		t.Errorf("supervisors %d and %d at once, %d before", first, second, one)
	}
	r.Stop(errOver)
	<-r.Done()
}

// A supervisor that is idle for long ends.
func TestIdle(t *testing.T) {
	p := newPool(t)
	p.Idle = 500 * time.Millisecond
	one := supervisorOf(t, p)
	watcher := parent(one) // 0 if it already ended
	await(t, "the supervisor has ended", func() bool { return !alive(one) && !alive(watcher) })
	if now := supervisorOf(t, p); now == one {
		t.Error("it did not end")
	}
}

// Supervisors have no environment, no terminal, the root as directory and no file of this process,
// and survive signals.
func TestSupervisorsAreBare(t *testing.T) {
	t.Setenv("PARLEY_TOKEN", "secret")
	p := newPool(t)
	one := supervisorOf(t, p)
	for _, pid := range []int{one, parent(one)} {
		dir := "/proc/" + strconv.Itoa(pid)
		if env, err := os.ReadFile(dir + "/environ"); os.Getuid() == 0 && (err != nil || string(env) != "GOMAXPROCS=2\x00") {
			t.Errorf("environment %q, %v", env, err)
		}
		if cwd, err := os.Readlink(dir + "/cwd"); os.Getuid() == 0 && (err != nil || cwd != "/") {
			t.Errorf("directory %s, %v", cwd, err)
		}
		stat, err := os.ReadFile(dir + "/stat")
		if fields := strings.Fields(string(stat)); err != nil || fields[4] != strconv.Itoa(parent(one)) ||
			fields[5] != fields[4] || fields[6] != "0" {
			t.Errorf("group, session and terminal: %s, %v", stat, err)
		}
		for sig := syscall.Signal(1); sig <= 64; sig++ {
			// Go does not catch signals 32 to 34.
			if sig != syscall.SIGKILL && sig != syscall.SIGSTOP && (sig < 32 || sig > 34) {
				syscall.Kill(pid, sig)
			}
		}
	}
	if now := supervisorOf(t, p); now != one {
		t.Errorf("the supervisor was %d and is %d", one, now)
	}
}

// Supervisors have their ends of two sockets, and no other file of this process.
func TestFilesOfSupervisors(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root sees them")
	}
	file, err := os.Open(executable(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	p := newPool(t)
	one := supervisorOf(t, p)
	for pid, sockets := range map[int]int{one: 1, parent(one): 1} {
		dir := "/proc/" + strconv.Itoa(pid) + "/fd/"
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			to, _ := os.Readlink(dir + e.Name())
			switch {
			case strings.HasPrefix(to, "socket:"):
				sockets--
			case to == "/dev/null", strings.HasPrefix(to, "anon_inode:"), strings.HasPrefix(to, "/sys/fs/cgroup/"): // opened by Go
			default:
				t.Errorf("it has %s", to)
			}
		}
		if sockets != 0 {
			t.Errorf("it has %d sockets less than expected", sockets)
		}
	}
}

// gate returns an input from which "read go" reads after begin is called, so that the test knows a
// program before it attacks its supervisor.
func gate() (in io.Reader, begin func()) {
	r, w := io.Pipe()
	return r, func() {
		_, _ = io.WriteString(w, "\n")
		_ = w.Close()
	}
}

// A program that kills its supervisor fails and is killed completely, and the next program runs.
func TestSupervisorAttacked(t *testing.T) {
	const child = "setsid sh -c 'setsid sleep 600 & sleep 600' & read go; sleep 0.05; "
	for name, text := range map[string]string{
		"supervisor": "kill -9 $PPID; sleep 600",
		"watcher":    "kill -9 $(awk '/PPid/ {print $2}' /proc/$PPID/status); sleep 600",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t)
			s := script(child+text, newMark())
			var begin func()
			s.Stdin, begin = gate()
			r := start(t, p, s)
			began := time.Now()
			begin()
			if err := r.Wait(); !errors.Is(err, process.ErrSupervisor) {
				t.Errorf("error %v", err)
			}
			if took := time.Since(began); took > inTime {
				t.Errorf("it took %s", took)
			}
			noneLeft(t, s.Env[1])
			supervisorOf(t, p)
		})
	}
}

// A program that stops its supervisor is killed in time.
func TestSupervisorStopped(t *testing.T) {
	const wait = 200 * time.Millisecond
	for name, text := range map[string]string{
		"supervisor":           "kill -STOP $PPID",
		"both":                 "kill -STOP $(awk '/PPid/ {print $2}' /proc/$PPID/status) $PPID",
		"supervisor, and ends": "kill -STOP $PPID; echo ready; exit 0",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			said := newHeard()
			s := script("trap '' TERM; setsid sleep 600 & read go; "+text+"; echo ready; sleep 600", newMark())
			var begin func()
			s.Stdin, begin = gate()
			s.Stdout, s.StopWait = said, wait
			r := startCtx(t, ctx, p, s)
			begin()
			said.line(t)
			cancel(errOver)
			began := time.Now()
			if err := r.Wait(); !errors.Is(err, errOver) {
				t.Errorf("error %v", err)
			}
			if took := time.Since(began); took > wait+inTime {
				t.Errorf("it took %s", took)
			}
			noneLeft(t, s.Env[1])
			supervisorOf(t, p)
		})
	}
}

// A supervisor that died while idle does not fail a program.
func TestIdleSupervisorKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	p := newPool(t)
	for range 10 {
		one := supervisorOf(t, p)
		watcher := parent(one)
		for _, pid := range []int{one, watcher} {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		// Either process has the other end of the link.
		await(t, "both are dead", func() bool { return !alive(one) && !alive(watcher) })
		if now := supervisorOf(t, p); now == one {
			t.Error("it is not dead")
		}
	}
}

// A supervisor that was stopped while idle is continued for the next program.
func TestIdleSupervisorStopped(t *testing.T) {
	p := newPool(t)
	one := supervisorOf(t, p)
	syscall.Kill(one, syscall.SIGSTOP)
	await(t, "it is stopped", func() bool { return strings.HasPrefix(status(one, "State"), "T") })
	if now := supervisorOf(t, p); now != one {
		t.Errorf("the supervisor was %d and is %d", one, now)
	}
}

// All nil pools are the same pool.
func TestSharedPool(t *testing.T) {
	var p *process.Pool
	if one, two := supervisorOf(t, p), supervisorOf(t, p); one != two {
		t.Errorf("supervisors %d and %d", one, two)
	}
}
