package hubproc_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/hubproc"
)

// envParent has this program start a child, which holds file 3 open, and be killed.
const envParent = "PARLEY_TEST_PARENT"

// unharmed is how long a child is watched that must not be killed, and killWait bounds the wait for
// one that must.
const (
	unharmed = 200 * time.Millisecond
	killWait = 2 * time.Minute
)

// The first thread of a process does not end with a goroutine: the first goroutine of a parent
// keeps it.
func init() {
	if os.Getenv(envParent) != "" {
		runtime.LockOSThread()
	}
}

func TestMain(m *testing.M) {
	if how := os.Getenv(envParent); how != "" {
		if err := parent(how); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// parent starts a child, reports when the starting thread is gone, and waits to be killed.
func parent(how string) error {
	child := exec.Command("sleep", "600")
	held := os.NewFile(3, "held")
	child.ExtraFiles = []*os.File{held}
	started, end := make(chan error), make(chan struct{})
	thread := make(chan int, 1)
	go func() {
		runtime.LockOSThread() // and the thread ends with the goroutine
		thread <- syscall.Gettid()
		if how == "apart" {
			if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
				started <- err
				return
			}
		}
		started <- hubproc.Start(child)
		<-end
	}()
	if err := <-started; err != nil {
		return err
	}
	held.Close() // only the child has it now
	fmt.Println("started")
	if how == "apart" {
		select {} // the child ends with the thread
	}
	close(end)
	for path := fmt.Sprintf("/proc/self/task/%d", <-thread); ; runtime.Gosched() {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	fmt.Println("ended")
	select {}
}

// TestStart kills a process that started a child. The child must end with it, and not earlier. Any
// thread can start it, including one with its own mounts.
func TestStart(t *testing.T) {
	for _, how := range []string{"thread that ends", "apart"} {
		t.Run(how, func(t *testing.T) {
			if how == "apart" && os.Geteuid() != 0 {
				t.Skip("left out: needs root, for mounts of its own")
			}
			held, end, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer held.Close()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), envParent+"="+how)
			cmd.ExtraFiles, cmd.Stderr = []*os.File{end}, os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := hubproc.Start(cmd); err != nil {
				t.Fatal(err)
			}
			end.Close()
			late := time.AfterFunc(killWait, func() { cmd.Process.Kill() })
			defer late.Stop()
			said := "started\n"
			if how != "apart" {
				said += "ended\n"
			}
			if _, err := io.ReadFull(out, make([]byte, len(said))); err != nil {
				t.Fatal(err)
			}
			if err := ended(held, unharmed); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the child has ended before its parent: %v", err)
			}
			cmd.Process.Kill()
			cmd.Wait()
			if err := ended(held, killWait); err != io.EOF {
				t.Errorf("the child has outlived its parent: %v", err)
			}
		})
	}
}

// ended waits until no process holds the other end, which is io.EOF.
func ended(held *os.File, within time.Duration) error {
	if err := held.SetReadDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	_, err := held.Read(make([]byte, 1))
	return err
}
