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

// What this executable is started as: its only argument.
const (
	watcherRole    = "process:watcher"
	supervisorRole = "process:supervisor"
)

// Where such a process finds what it was given.
const (
	leashFd = 0 // of a watcher
	linkFd  = 3
)

// self is this executable, even when its file was replaced.
const self = "/proc/self/exe"

// ownEnv are the variables of such a process. It has little to do at once.
var ownEnv = []string{"GOMAXPROCS=2"}

var supervised atomic.Bool

// Supervise makes this process a supervisor if it was started as one, and then never returns. Otherwise programs are held by supervisors from
// now on. Call it first in main, and in TestMain: what is done before is done in each supervisor, as package initialisation is.
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

// Enabled reports whether programs are held by supervisors.
func Enabled() bool { return supervised.Load() }

const (
	setDumpable       = 4  // PR_SET_DUMPABLE
	setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER
)

// prepare makes this process the parent of all orphans below it, deaf to signals and closed to the eyes of others. This goroutine stays on its thread: a child
// is killed when the thread that has started it ends.
func prepare() {
	runtime.LockOSThread()
	if _, err := syscall.GetsockoptInt(linkFd, syscall.SOL_SOCKET, syscall.SO_TYPE); err != nil {
		fail("this is for the program itself: it has no socket to take orders from")
	}
	syscall.CloseOnExec(linkFd)
	if err := prctl(setChildSubreaper, 1); err != nil {
		fail("become the parent of orphans: " + err.Error())
	}
	_ = prctl(setDumpable, 0) // a precaution: without it all else holds
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

// exit ends this process at once: nothing that was arranged for the end of this executable is to be done here.
func exit(code int) { syscall.Exit(code) }

// ignoreSignals catches every signal and does nothing about it. Unlike ignored signals these are not ignored in programs that are started.
func ignoreSignals() {
	nobody := make(chan os.Signal, 1)
	for s := syscall.Signal(1); s <= 64; s++ {
		if s != syscall.SIGCHLD && s != syscall.SIGURG && !signal.Ignored(s) { // the first comes all the time, the second is Go's own
			signal.Notify(nobody, s)
		}
	}
}

// keepThreads has Go make that many threads now, which it keeps: when a program has used up what the user may have of them, this process still works.
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
