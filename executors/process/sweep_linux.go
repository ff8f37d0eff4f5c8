package process

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// What a sweep may take.
const (
	// resistTime is how long a process may live on that may not be killed: it may become another user's again.
	resistTime = 3 * time.Second
	// dyingTime is how long one may live on that was killed: it needs a processor to die, and on a busy machine waits for it.
	dyingTime = 15 * time.Second
	// sweepTime bounds all of it, for when there are always new ones.
	sweepTime     = 20 * time.Second
	minSweepPause = time.Millisecond
	maxSweepPause = 50 * time.Millisecond
)

// sweep kills all descendants of this process and reaps them. It gives how many have resisted, and the time that those which were reaped have computed.
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
			look = time.Now().Add(time.Since(now)) // they need time to die as well: half of it for each
		}
		time.Sleep(pause)
	}
}

// kill stops and kills all descendants, and gives how many of those have resisted that were killed before.
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

// overdue reports whether a process resists that lived on after SIGKILL, which was sent with the result err.
func overdue(err error, lived time.Duration) bool {
	if err == syscall.EPERM {
		return lived > resistTime
	}
	return lived > dyingTime
}

// reap takes the children back that have ended. It is false when there is no child any more.
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
	// freezeTime bounds the search for processes that start others.
	freezeTime = time.Second
	// chases is how often new children are looked for before all of /proc is read again.
	chases = 20
)

// kin is a process below this one.
type kin struct{ pid, group int }

// freeze stops all descendants, so that they start no others, and gives them. Between finding and stopping one its number cannot have come to another
// process: the numbers of all that the system may have would have to be used up within a moment.
func freeze() []int {
	end := time.Now().Add(freezeTime)
	f := freezer{stopped: map[int]bool{-syscall.Getpgrp(): true}} // this process must go on
	for {
		before := len(f.pids)
		for _, k := range descendants() {
			if k.group > 1 {
				f.stop(-k.group) // this cannot miss those that it begets at this moment; whoever is in it is a descendant
			}
			f.stop(k.pid)
		}
		for range chases { // some run away: a child that has a child and ends is another one each time, and comes here as an orphan
			for _, pid := range children() {
				f.stop(pid)
			}
		}
		if len(f.pids) == before || time.Now().After(end) {
			return f.pids
		}
	}
}

// freezer remembers whom it has stopped.
type freezer struct {
	stopped map[int]bool // a group by its negative number
	pids    []int
}

func (f *freezer) stop(target int) {
	if f.stopped[target] {
		return
	}
	f.stopped[target] = true
	_ = syscall.Kill(target, syscall.SIGSTOP) // who resists is counted in the end
	if target > 0 {
		f.pids = append(f.pids, target)
	}
}

// children gives the processes whose parent is this one, orphans included. It gives none where the kernel does not tell.
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

// descendants gives all processes below this one that live.
func descendants() (found []kin) {
	below := map[int][]kin{}
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what could be read is better than nothing
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

// status gives the parent and the group of a process that lives. Zombies do not, but their children have another parent already.
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
	fields := bytes.Fields(buf[bytes.LastIndexByte(buf[:n], ')')+1 : n]) // behind its name, which may be anything
	if len(fields) < 3 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return 0, 0, false
	}
	parent, err1 := strconv.Atoi(string(fields[1]))
	group, err2 := strconv.Atoi(string(fields[2]))
	return parent, group, err1 == nil && err2 == nil
}
