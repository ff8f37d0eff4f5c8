package process

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// The time limits of a sweep.
const (
	// resistTime is how long a process may live that this user may not kill. It may change its user
	// back.
	resistTime = 3 * time.Second
	// dyingTime is how long a killed process may live. It needs a processor to die, for which it
	// waits on a busy machine.
	dyingTime = 15 * time.Second
	// sweepTime limits the whole sweep, in case new processes keep appearing.
	sweepTime     = 20 * time.Second
	minSweepPause = time.Millisecond
	maxSweepPause = 50 * time.Millisecond
)

// sweep kills all descendants of this process and reaps them. It returns how many resisted, and the
// CPU time of those that were reaped.
//
//	reap ─▶ no child left: done
//	  ▲                │
//	  │            stop all, until no new one is found
//	  │                │
//	  └── pause ◀── kill all
func sweep() (left int, cpu time.Duration) {
	began, killed := time.Now(), map[int]time.Time{}
	var look time.Time
	for pause := minSweepPause; ; pause = min(2*pause, maxSweepPause) {
		any, used := reap()
		cpu += used
		if !any {
			return 0, cpu
		}
		if now := time.Now(); now.After(look) {
			left = kill(killed)
			if left > 0 || time.Since(began) > sweepTime {
				return max(left, 1), cpu
			}
			look = time.Now().Add(time.Since(now)) // they also need time to die, so wait as long as the search took
		}
		time.Sleep(pause)
	}
}

// kill stops and kills all descendants. It returns how many resisted an earlier kill.
func kill(killed map[int]time.Time) (resisted int) {
	for _, pid := range freeze() {
		err := syscall.Kill(pid, syscall.SIGKILL)
		if when, again := killed[pid]; !again {
			killed[pid] = time.Now()
		} else if overdue(err, time.Since(when)) {
			resisted++
		}
	}
	return resisted
}

// overdue reports whether a process resists. err is the result of SIGKILL, and lived is the time
// since the first one.
func overdue(err error, lived time.Duration) bool {
	if err == syscall.EPERM {
		return lived > resistTime
	}
	return lived > dyingTime
}

// reap reaps all children that ended. any is false if no child is left.
func reap() (any bool, cpu time.Duration) {
	for {
		pid, _, used, err := wait(syscall.WNOHANG)
		if err != nil {
			return false, cpu
		}
		if pid == 0 {
			return true, cpu
		}
		cpu += used
	}
}

// wait is wait4 for any child.
func wait(options int) (pid int, status syscall.WaitStatus, cpu time.Duration, err error) {
	var u syscall.Rusage
	for {
		pid, err = syscall.Wait4(-1, &status, options, &u)
		if err != syscall.EINTR {
			return pid, status, time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
		}
	}
}

const (
	// freezeTime limits the search for processes that start others.
	freezeTime = time.Second
	// chases is how often new children are searched before all of /proc is read again.
	chases = 20
)

// kin is a descendant of this process.
type kin struct{ pid, group int }

// freeze stops all descendants, so that they start no others, and returns them. A pid cannot be
// reused between search and stop, because the system would have to use up all numbers in that time.
func freeze() []int {
	end := time.Now().Add(freezeTime)
	f := freezer{stopped: map[int]bool{-syscall.Getpgrp(): true}} // this process must not be stopped
	for {
		before := len(f.pids)
		for _, k := range descendants() {
			if k.group > 1 {
				f.stop(-k.group) // this also stops children that start at this moment; the group has only descendants
			}
			f.stop(k.pid)
		}
		// A child that forks and ends is another process each time, and becomes a child of this
		// process as an orphan.
		for range chases {
			for _, pid := range children() {
				f.stop(pid)
			}
		}
		if len(f.pids) == before || time.Now().After(end) {
			return f.pids
		}
	}
}

// freezer has the processes that were stopped.
type freezer struct {
	stopped map[int]bool // a group has a negative number
	pids    []int
}

func (f *freezer) stop(target int) {
	if f.stopped[target] {
		return
	}
	f.stopped[target] = true
	_ = syscall.Kill(target, syscall.SIGSTOP) // resisting processes are counted at the end
	if target > 0 {
		f.pids = append(f.pids, target)
	}
}

// children returns the children of this process, including orphans. It returns none if the kernel
// does not list them.
func children() (pids []int) {
	text, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children")
	if err != nil {
		return nil
	}
	for _, f := range bytes.Fields(text) {
		if pid, err := strconv.Atoi(string(f)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// descendants returns all live descendants of this process.
func descendants() (found []kin) {
	below := map[int][]kin{}
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // a partial result is better than none
	buf := make([]byte, 1024)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if parent, group, ok := status(name, buf); ok {
			below[parent] = append(below[parent], kin{pid, group})
		}
	}
	found = below[os.Getpid()]
	for i := 0; i < len(found); i++ {
		found = append(found, below[found[i].pid]...)
	}
	return found
}

// status returns the parent and the group of a live process. Zombies do not count, because their
// children already have another parent.
func status(name string, buf []byte) (parent, group int, ok bool) {
	fd, err := syscall.Open("/proc/"+name+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, 0, false
	}
	defer syscall.Close(fd)
	n, err := syscall.Read(fd, buf)
	if err != nil {
		return 0, 0, false
	}
	fields := bytes.Fields(buf[bytes.LastIndexByte(buf[:n], ')')+1 : n]) // after the name, which may contain anything
	if len(fields) < 3 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return 0, 0, false
	}
	parent, err1 := strconv.Atoi(string(fields[1]))
	group, err2 := strconv.Atoi(string(fields[2]))
	return parent, group, err1 == nil && err2 == nil
}
