package process

import (
	"encoding/gob"
	"os"
	"sync"
	"syscall"
)

// guard is the work of a supervisor: it starts one program after another, and kills the processes
// that each one leaves.
type guard struct {
	in *ordersIn
	// ended waits for await.
	ended sync.WaitGroup

	mu  sync.Mutex // guards the fields below
	out *gob.Encoder
	// program is the pid of the running program. It is 0 if none runs, or after it is reaped.
	program int
	// alone is true after the last order.
	alone bool
}

// supervise executes orders until the link is closed.
func supervise() {
	link := os.NewFile(linkFd, "link")
	g := &guard{in: newOrdersIn(link), out: gob.NewEncoder(link)}
	for {
		o, files, err := g.in.receive()
		if err != nil {
			break // the runner died or closed the link, or the order is invalid
		}
		switch o.Kind {
		case orderRun:
			g.run(o, files)
		case orderTerminate:
			g.terminate()
		case orderKill:
			g.kill()
		}
		closeFds(files)
	}
	g.mu.Lock()
	g.alone = true
	g.mu.Unlock()
	g.kill()
	g.ended.Wait()
	exit(0)
}

// run starts a program and a goroutine that waits for its end.
func (g *guard) run(o *order, files []int) {
	attr := &syscall.ProcAttr{
		Dir: o.Dir, Env: o.Env,
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	for _, fd := range files {
		attr.Files = append(attr.Files, uintptr(fd))
	}
	pid, err := syscall.ForkExec(o.Path, o.Argv, attr)
	if err != nil {
		errno, ok := err.(syscall.Errno)
		if !ok {
			errno = syscall.EINVAL
		}
		g.report(report{Errno: errno})
		return
	}
	g.mu.Lock()
	g.program = pid
	g.mu.Unlock()
	g.report(report{Pid: pid})
	g.ended.Go(func() { g.await(pid) })
}

// await waits for the end of the program, kills its descendants, and reports the end. It also reaps
// orphans that end before the program.
func (g *guard) await(pid int) {
	r := report{Ended: true}
	for ended := false; !ended; {
		if errno := waitid(waitForAny, 0); errno != 0 {
			exit(2) // the program does not exist, so nothing is known
		}
		g.mu.Lock()
		child, status, cpu, err := wait(syscall.WNOHANG)
		if ended = err == nil && child == pid; ended {
			g.program = 0 // the number may be reused from now on
			r.Code = status.ExitStatus()
			if status.Signaled() {
				r.Signal = int(status.Signal())
			}
		}
		g.mu.Unlock()
		r.CPU += cpu
	}
	left, cpu := sweep()
	r.Left, r.CPU = left, r.CPU+cpu
	g.report(r)
}

func (g *guard) report(r report) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r.Broken = r.Ended && g.alone
	_ = g.out.Encode(r) // if no one reads the link, no more orders will follow
}

// terminate sends SIGTERM to the program and its group.
func (g *guard) terminate() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.program != 0 {
		_ = syscall.Kill(-g.program, syscall.SIGTERM)
	}
}

// kill kills the program. await kills its descendants after that.
func (g *guard) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.program != 0 {
		_ = syscall.Kill(g.program, syscall.SIGKILL)
	}
}

func closeFds(fds []int) {
	for _, fd := range fds {
		syscall.Close(fd)
	}
}
