package process

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
)

// The roles of this executable, which are its only argument.
const (
	watcherRole    = "process:watcher"
	supervisorRole = "process:supervisor"
)

// The files of such a process.
const (
	leashFd = 0 // of a watcher
	linkFd  = 3
)

// self is this executable, even if its file was replaced.
const self = "/proc/self/exe"

// ownEnv are the variables of such a process. It does not need many threads.
var ownEnv = []string{"GOMAXPROCS=2"}

var supervised atomic.Bool

// Supervise never returns if this process was started as a supervisor. Otherwise it enables
// supervisors for all programs that are started later. Call it first in main and in TestMain,
// because everything before it, including package initialization, also runs in each supervisor.
func Supervise() {
	supervised.Store(true)
	if len(os.Args) != 2 {
		return
	}
	switch os.Args[1] {
	case watcherRole:
		prepare()
		watch()
	case supervisorRole:
		prepare()
		supervise()
	}
}

// Enabled reports whether programs have supervisors.
func Enabled() bool { return supervised.Load() }

const (
	setDumpable       = 4  // PR_SET_DUMPABLE
	setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER
)

// prepare makes this process the parent of all orphans below it. It also protects it from signals
// and from inspection by other processes. This goroutine stays on its thread, because a child is
// killed when the thread that started it ends.
func prepare() {
	runtime.LockOSThread()
	if _, err := syscall.GetsockoptInt(linkFd, syscall.SOL_SOCKET, syscall.SO_TYPE); err != nil {
		fail("this argument is only for internal use: there is no socket for orders")
	}
	syscall.CloseOnExec(linkFd)
	if err := prctl(setChildSubreaper, 1); err != nil {
		fail("set the child subreaper: " + err.Error())
	}
	_ = prctl(setDumpable, 0) // a precaution; nothing else depends on it
	ignoreSignals()
	keepThreads(6)
}

func prctl(option, value uintptr) error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, option, value, 0); errno != 0 {
		return errno
	}
	return nil
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, os.Args[0]+" "+os.Args[1]+": "+why)
	exit(2)
}

// exit ends this process at once, without the deferred work of this executable.
func exit(code int) { syscall.Exit(code) }

// ignoreSignals catches every signal and discards it. Unlike ignored signals, caught signals are
// not ignored in started programs.
func ignoreSignals() {
	discarded := make(chan os.Signal, 1)
	for s := syscall.Signal(1); s <= 64; s++ {
		// SIGCHLD is frequent, and SIGURG belongs to Go.
		if s != syscall.SIGCHLD && s != syscall.SIGURG && !signal.Ignored(s) {
			signal.Notify(discarded, s)
		}
	}
}

// keepThreads makes Go create n threads now. Go keeps them, so this process works even after a
// program used up the thread limit of the user.
func keepThreads(n int) {
	var all, here sync.WaitGroup
	here.Add(n)
	for range n {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			here.Done()
			here.Wait()
		})
	}
	all.Wait()
}
