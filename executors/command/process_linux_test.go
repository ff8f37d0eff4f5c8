package command

// White-box: programs are started here from threads that end.

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestThreadsMayEnd: a program is killed with this process, and not with the thread on which a turn happened to begin.
func TestThreadsMayEnd(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "cat")
	var g group
	g.own(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	tid := onThreadThatEnds(func() {
		if err := launch(cmd); err != nil {
			t.Error(err)
		}
	})
	for end := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid)); err != nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the thread does not end")
		}
	}
	if _, err := io.WriteString(in, "still there\n"); err != nil {
		t.Error(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "still there\n" {
		t.Errorf("the program says %q, %v", line, err)
	}
	in.Close()
	if err := g.finish(cmd); err != nil {
		t.Error(err)
	}
}

// onThreadThatEnds calls f on a thread of its own, and gives its number.
func onThreadThatEnds(f func()) int {
	thread := make(chan int)
	go func() {
		runtime.LockOSThread() // and the thread ends with the goroutine
		tid := syscall.Gettid()
		if tid == os.Getpid() { // but for the first one, which is held while another is asked for
			tid = onThreadThatEnds(f)
		} else {
			f()
		}
		thread <- tid
	}()
	return <-thread
}
