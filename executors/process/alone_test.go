//go:build linux

package process_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/process"
)

// Without supervisors, the rest of the group is killed. A process that left the group delays the
// end only for the documented time, and the output is complete.
func TestAlone(t *testing.T) {
	process.WithoutSupervisors(t)
	p := newPool(t)
	var out bytes.Buffer
	s := script(
		"sleep 600 & setsid sleep 600 & until [ x$(cut -d' ' -f6 /proc/$!/stat) = x$! ]; do [ -d /proc/$! ] || exit 1; "+
			"sleep 0.01; done; head -c 1000000 /dev/zero", newMark())
	s.Stdout = &out
	began := time.Now()
	if err := start(t, p, s).Wait(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > inTime {
		t.Errorf("it took %s", took)
	}
	if out.Len() != 1_000_000 {
		t.Errorf("%d bytes came", out.Len())
	}
	await(t, "only one is left", func() bool { return len(marked(t, s.Env[1])) == 1 })
	for _, pid := range marked(t, s.Env[1]) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// A program is killed with this process, but not with the thread that happened to start it.
func TestThreadsMayEnd(t *testing.T) {
	both(t, func(t *testing.T) {
		p := newPool(t)
		in, feed := io.Pipe()
		said := newHeard()
		s := script("cat", newMark())
		s.Stdin, s.Stdout = in, said
		var r *process.Process
		tid := onThreadThatEnds(func() {
			var err error
			if r, err = p.Start(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
		await(t, "the thread has ended", func() bool {
			_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid))
			return err != nil
		})
		io.WriteString(feed, "still there\n")
		if got := said.line(t); got != "still there" {
			t.Errorf("the program says %q", got)
		}
		feed.Close()
		if err := r.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// onThreadThatEnds calls f on a separate thread that then ends, and returns the id of the thread.
func onThreadThatEnds(f func()) int {
	thread := make(chan int)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		tid := syscall.Gettid()
		if tid == os.Getpid() { // except the first thread, which is kept while another one is used
			tid = onThreadThatEnds(f)
		} else {
			f()
		}
		thread <- tid
	}()
	return <-thread
}

// BenchmarkStart measures start and end of a program that does nothing, next to a bare fork and
// exec in the same run.
func BenchmarkStart(b *testing.B) {
	for _, c := range []struct {
		name  string
		pipes bool
	}{{"no streams", false}, {"three pipes", true}} {
		b.Run(c.name, func(b *testing.B) {
			p := newPool(b)
			var held, bare time.Duration
			for b.Loop() {
				var out, errs bytes.Buffer
				s := &process.Spec{Argv: []string{"true"}, Path: "/bin/true"}
				cmd := &exec.Cmd{Path: "/bin/true", Args: s.Argv, Env: []string{}}
				if c.pipes {
					s.Stdin, s.Stdout, s.Stderr = strings.NewReader("hello"), &out, &errs
					cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("hello"), &out, &errs
				}
				began := time.Now()
				if err := start(b, p, s).Wait(); err != nil {
					b.Fatal(err)
				}
				half := time.Now()
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
				held, bare = held+half.Sub(began), bare+time.Since(half)
			}
			b.ReportMetric(float64(held.Microseconds())/float64(b.N), "µs/held")
			b.ReportMetric(float64(bare.Microseconds())/float64(b.N), "µs/bare")
			b.ReportMetric(held.Seconds()/bare.Seconds(), "ratio")
		})
	}
}
