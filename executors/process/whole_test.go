//go:build linux

package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/process"
)

// inTime limits actions that take milliseconds, or seconds with a thousand processes. The programs
// of the tests run longer.
const inTime = 3 * time.Minute

// Programs that resist their end. Each prints "ready" when it is complete.
var wild = map[string]string{
	"children in the group": "sleep 600 & sleep 600 & echo ready; wait",
	"another session":       "setsid sleep 600 & echo ready; wait",
	"daemon":                "(setsid sh -c 'sleep 600 & sleep 600 &' &) ; echo ready; sleep 600",
	"deaf":                  "trap '' TERM HUP INT; setsid sh -c \"trap '' TERM; sleep 600\" & echo ready; wait",
	"stopped child":         "setsid sh -c 'kill -STOP $$' & echo ready; wait",
	"awakened child": "setsid sleep 600 & victim=$!; setsid sh -c \"while :; do kill -CONT $victim; done\" & " +
		"echo ready; wait",
	// Two hundred processes, of which each half restarts the other one.
	"respawning": "trap '' TERM; w() { while :; do sleep 600 & wait $!; done; }; i=0; while [ $i -lt 100 ]; do w & " +
		"i=$((i+1)); done; echo ready; wait",
	// More and more processes, each in a separate session.
	"growing": "trap '' TERM; (i=0; while [ $i -lt 1000 ]; do setsid sleep 600 & i=$((i+1)); done) & echo ready; wait",
	// A process that is another one at each look.
	"running away": "trap '' TERM; r() { r & exit; }; r & echo ready; sleep 600",
	"running away from the session": `for i in 1 2 3 4 5 6 7 8; do perl -MPOSIX -e 'while (1) { exit if fork; ` +
		`setsid(); }' & done; echo ready; sleep 600`,
}

// All processes of a program are gone in time when the program ends.
func TestNothingIsLeft(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	const wait = 100 * time.Millisecond
	for name, text := range wild {
		t.Run(name, func(t *testing.T) {
			for _, tool := range []string{"setsid", "perl"} {
				if _, err := exec.LookPath(tool); err != nil && strings.Contains(text, tool+" ") {
					t.Skip(err)
				}
			}
			p := newPool(t)
			mark := newMark()
			ctx, cancel := context.WithCancelCause(t.Context())
			s := script(text, mark)
			said := newHeard()
			s.Stdout, s.StopWait = said, wait
			r := startCtx(t, ctx, p, s)
			said.line(t)
			time.Sleep(50 * time.Millisecond) // let it run at full speed; no check depends on it
			cancel(errOver)
			began := time.Now()
			err := r.Wait()
			if took := time.Since(began); took > wait+inTime {
				t.Errorf("it took %s", took)
			}
			noneLeft(t, mark)
			if !errors.Is(err, errOver) || errors.Is(err, process.ErrLeft) {
				t.Errorf("error %v", err)
			}
			if got := output(t, p, script("echo $1", mark, "again")); got != "again\n" {
				t.Errorf("the next program prints %q", got)
			}
		})
	}
}

// The end of a successful program kills the processes that it left, at once, and its output is
// complete.
func TestEndKillsAll(t *testing.T) {
	p := newPool(t)
	for _, how := range []string{"0", "daemon", "3"} {
		var out bytes.Buffer
		s := program(t, "leave", how)
		mark := newMark()
		s.Env, s.Stdout = []string{"PATH=" + os.Getenv("PATH"), mark}, &out
		began := time.Now()
		err := start(t, p, s).Wait()
		if took := time.Since(began); took > inTime {
			t.Errorf("%s: it took %s", how, took)
		}
		noneLeft(t, mark)
		if failed := err != nil; failed != (how == "3") || out.Len() == 0 {
			t.Errorf("%s: %v, printed %q", how, err, out.String())
		}
	}
}

// A grandchild that keeps the output open neither delays the end nor loses output.
func TestHeldOutput(t *testing.T) {
	p := newPool(t)
	var out bytes.Buffer
	s := script(`(trap "" TERM; exec setsid sleep 600) & head -c 3000000 /dev/zero`, newMark())
	s.Stdout = &out
	began := time.Now()
	if err := start(t, p, s).Wait(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > inTime {
		t.Errorf("it took %s", took)
	}
	if out.Len() != 3_000_000 {
		t.Errorf("%d bytes came", out.Len())
	}
	noneLeft(t, s.Env[1])
}

// Orphans that end while the program runs are reaped.
func TestOrphansAreReaped(t *testing.T) {
	p := newPool(t)
	text := `i=0; while [ $i -lt 20 ]; do (true &) ; i=$((i+1)); done
		i=0; while grep -qs "^State:.Z" $(grep -ls "^PPid:.$PPID$" /proc/[0-9]*/status); do i=$((i+1)); [ $i -gt 500 ] && exit 1; sleep 0.01; done`
	if err := start(t, p, script(text, newMark())).Wait(); err != nil {
		t.Error(err)
	}
}

// Concurrent programs do not affect each other.
func TestMany(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	p := newPool(t)
	mark := newMark()
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			var out bytes.Buffer
			s := script(`setsid sleep 600 & cat; exit $1`, mark, fmt.Sprint(i))
			s.Stdin, s.Stdout = strings.NewReader(strings.Repeat(fmt.Sprintln(i), 100)), &out
			r, err := p.Start(t.Context(), s)
			if err != nil {
				t.Error(err)
				return
			}
			if err := r.Wait(); (err == nil) != (i == 0) || r.Exit().Code != i {
				t.Errorf("%d: %v", i, err)
			}
			if out.String() != strings.Repeat(fmt.Sprintln(i), 100) {
				t.Errorf("%d: printed %q", i, out.String())
			}
		})
	}
	all.Wait()
	noneLeft(t, mark)
}

// No process is left after the process that runs programs is killed.
func TestRunnerKilled(t *testing.T) {
	mark := newMark()
	said := newHeard()
	runner := exec.Command(executable(t), "program", "runner", mark)
	runner.Stdout = said
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	escaped := said.number(t)
	if got := len(marked(t, mark)); got != 2 {
		t.Errorf("%d processes run, expected the program and its child", got)
	}
	if err := syscall.Kill(escaped, 0); err != nil {
		t.Errorf("its child does not run: %v", err)
	}
	if err := runner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	runner.Wait() // it was killed
	await(t, "nothing is left", func() bool { return len(marked(t, mark)) == 0 })
	if took := time.Since(killed); took > inTime {
		t.Errorf("it took %s", took)
	}
}

// nobody is a user without rights.
const nobody = 65534

// Processes that cannot be killed are reported, after a limited time.
func TestLeft(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make a program that others cannot kill")
	}
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	rooted := copied(t, 0o755|os.ModeSetuid)
	said := newHeard()
	cmd := exec.Command(copied(t, 0o755), "program", "resisted", rooted)
	cmd.Dir, cmd.Stdout, cmd.SysProcAttr = "/", said, &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := said.number(t)
	got := said.line(t)
	if strings.Contains(got, "not permitted") {
		t.Skip("this file system takes no setuid")
	}
	if got != "root" {
		t.Error(got)
	}
	if got = said.line(t); !strings.Contains(got, process.ErrLeft.Error()+": 1 are left") {
		t.Error(got)
	}
	if got = said.line(t); got != "the next: <nil>" {
		t.Error(got)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("it no longer runs: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
