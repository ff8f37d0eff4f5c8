package process

import (
	"os"
	"sync"
	"syscall"
)

// watch starts a supervisor and waits for its end. It then kills the rest.
func watch() {
	pid, err := startSupervisor()
	if err != nil {
		fail("start the supervisor: " + err.Error())
	}
	var mu sync.Mutex
	reaped := false // guarded by mu
	signal := func(sig syscall.Signal) {
		mu.Lock()
		defer mu.Unlock()
		if !reaped {
			_ = syscall.Kill(pid, sig)
		}
	}
	go func() { // until the process ends
		for isHeld() {
			signal(syscall.SIGCONT)
		}
		signal(syscall.SIGKILL)
	}()
	for !reaped {
		if errno := waitid(waitForAny, 0); errno != 0 {
			break // there is no child, which cannot happen
		}
		mu.Lock()
		ended, _, _, _ := wait(syscall.WNOHANG)
		reaped = ended == pid
		mu.Unlock()
	}
	sweep()
	exit(0)
}

// startSupervisor starts this executable again, and passes the link on.
func startSupervisor() (int, error) {
	null, err := syscall.Open(os.DevNull, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(null)
	defer syscall.Close(linkFd)
	nowhere := uintptr(null)
	return syscall.ForkExec(self, []string{os.Args[0], supervisorRole}, &syscall.ProcAttr{
		Env: ownEnv, Files: []uintptr{nowhere, nowhere, nowhere, linkFd},
	})
}

// isHeld waits for a byte on the leash. It returns false when the leash is closed.
func isHeld() bool {
	for {
		n, err := syscall.Read(leashFd, make([]byte, 1))
		if err != syscall.EINTR {
			return n == 1
		}
	}
}
