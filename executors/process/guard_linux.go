package process

import (
	"encoding/gob"
	"os"
	"sync"
	"syscall"
)

// guard is the work of a supervisor: it starts one program after another, and kills what each leaves.
type guard struct {
	in *ordersIn
	// ended is waited for at the end.
	ended sync.WaitGroup

	mu  sync.Mutex // guards the fields below
	out *gob.Encoder
	// program is the pid of the program that runs; 0 when none does, or it was reaped.
	program int
	// alone says that there will be no more orders.
	alone bool
}

// supervise carries out orders until there are no more.
func supervise() {
	link := os.NewFile(linkFd, "link")
	g := &guard{in: newOrdersIn(link), out: gob.NewEncoder(link)}
	for {
		o, files, err := g.in.receive()
		if err != nil {
			break // the runner is dead or has let go, or what it says cannot be understood
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

// run starts a program and what waits for its end.
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

// await waits for the end of the program, kills what it has left, and reports. Orphans that end before the program are reaped on the way.
func (g *guard) await(pid int) {
	r := report{Ended: true}
	for ended := false; !ended; {
		if errno := waitid(waitForAny, 0); errno != 0 {
			exit(2) // the program is not there: nothing can be said of it
		}
		g.mu.Lock()
		child, status, cpu, err := wait(syscall.WNOHANG)
		if ended = err == nil && child == pid; ended {
			g.program = 0 // others may get its number from now on
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
	_ = g.out.Encode(r) // when nobody hears it, there will be no more orders
}

// terminate tells the program and its group to end.
func (g *guard) terminate() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.program != 0 {
		_ = syscall.Kill(-g.program, syscall.SIGTERM)
	}
}

// kill kills the program. What it has started is killed when it is dead.
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
