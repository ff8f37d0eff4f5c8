package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Machine is what the disk and the processors did beside a comparison.
type Machine struct {
	// Fsync is how many 4 KiB appends with fsync the disk of the data took a second, one after
	// another.
	Fsync float64 `json:"fsyncPerSecond"`
	// Load is the load average of the last minute.
	Load string `json:"load"`
}

func lookAtMachine(dir string) (Machine, error) {
	rate, err := fsyncRate(dir)
	if err != nil {
		return Machine{}, err
	}
	b, err := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(b), " ")
	return Machine{Fsync: rate, Load: load}, err
}

func fsyncRate(dir string) (float64, error) {
	f, err := os.Create(filepath.Join(dir, "fsync"))
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block := bytes.Repeat([]byte{1}, 4096)
	start, n := time.Now(), 0
	for time.Since(start) < 300*time.Millisecond {
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		n++
	}
	return float64(n) / time.Since(start).Seconds(), nil
}

// treeCPU returns the user and system CPU time of a process, of its running children, and of its
// children that have exited.
func treeCPU(pid int) (time.Duration, error) {
	sum, err := endedCPU(pid)
	if err != nil {
		return 0, err
	}
	own, err := processCPU(pid)
	if err != nil {
		return 0, err
	}
	sum += own
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0, err
	}
	for _, child := range strings.Fields(string(children)) {
		id, err := strconv.Atoi(child)
		if err != nil {
			return 0, err
		}
		if used, err := treeCPU(id); err == nil { // else it has just ended
			sum += used
		}
	}
	return sum, nil
}

// processCPU asks the CPU-time clock of a process (see clock_getcpuclockid(3)). /proc/PID/stat is
// too coarse: it cuts the time of each of hundreds of processes, of which each has used little, to
// hundredths of a second.
func processCPU(pid int) (time.Duration, error) {
	const ofScheduler = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|ofScheduler, &t); err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// clockTick is the unit of /proc/PID/stat on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// endedCPU reads the fields cutime and cstime.
func endedCPU(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := bytes.Cut(b, []byte(") ")) // the name before it may hold spaces
	fields := strings.Fields(string(after))
	if len(fields) < 15 {
		return 0, fmt.Errorf("/proc/%d/stat: %s: expected more fields", pid, b)
	}
	user, err1 := strconv.ParseInt(fields[13], 10, 64)
	system, err2 := strconv.ParseInt(fields[14], 10, 64)
	return time.Duration(user+system) * clockTick, errors.Join(err1, err2)
}

// ownCPU is the CPU time of this process, without its children.
func ownCPU() (time.Duration, error) {
	var r syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), err
}

// roomForFiles is nil when this process may open n files.
func roomForFiles(n int) error {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return err
	}
	if uint64(n) > r.Max {
		return fmt.Errorf("%d open files are needed and ulimit -n is %d", n, r.Max)
	}
	return nil
}
