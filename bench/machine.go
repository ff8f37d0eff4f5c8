package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// Disk is what the disk under a directory does.
type Disk struct {
	// PerSecond is how many 4 KiB blocks can be appended to a file and made durable in a second, one
	// after another.
	PerSecond float64 `json:"perSecond"`
	// P50Ms is how long the middle one takes.
	P50Ms float64 `json:"p50Ms"`
}

// probe is how long MeasureDisk tries.
const probe = 300 * time.Millisecond

// MeasureDisk appends 4 KiB blocks to a file in dir, each made durable before the next, for a third
// of a second.
func MeasureDisk(dir string) (Disk, error) {
	f, err := os.CreateTemp(dir, "fsync-")
	if err != nil {
		return Disk{}, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	r, err := (&side{workers: []worker{&syncer{file: f}}}).slice(context.Background(), probe)
	return Disk{PerSecond: r.PerSecond, P50Ms: r.P50Ms}, err
}

// syncer appends blocks of 4 KiB to a file, and makes each durable.
type syncer struct {
	file *os.File
	took []time.Duration
}

var block = bytes.Repeat([]byte{1}, 4096)

func (s *syncer) work(end time.Time) error {
	for {
		start := time.Now()
		if !start.Before(end) {
			return nil
		}
		if _, err := s.file.Write(block); err != nil {
			return err
		}
		if err := syncData(s.file); err != nil {
			return err
		}
		s.took = append(s.took, time.Since(start))
	}
}

func (s *syncer) taken() (int, []time.Duration) { return take(&s.took) }

func (s *syncer) close() {} // the disk answers

// Machine is what the machine did beside a benchmark.
type Machine struct {
	FsyncBefore *Disk  `json:"fsyncBefore,omitempty"`
	FsyncAfter  *Disk  `json:"fsyncAfter,omitempty"`
	LoadBefore  string `json:"loadBefore,omitempty"`
	LoadAfter   string `json:"loadAfter,omitempty"`
}

// before measures the disk under dir, unless that is empty, and the load.
func (m *Machine) before(dir string) (err error) {
	m.LoadBefore = loadAverage()
	m.FsyncBefore, err = diskOf(dir)
	return err
}

func (m *Machine) after(dir string) (err error) {
	m.LoadAfter = loadAverage()
	m.FsyncAfter, err = diskOf(dir)
	return err
}

func diskOf(dir string) (*Disk, error) {
	if dir == "" {
		return nil, nil
	}
	d, err := MeasureDisk(dir)
	return &d, err
}

// loadAverage returns the load average of the last minute, or "" if the system does not report it.
func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(b), " ")
	return first
}

// ProcessCPU returns the user and system CPU time of a process, or 0 if the system does not report
// it.
func ProcessCPU(pid int) time.Duration { return processCPU(pid) }

// ownCPU is that of this process.
func ownCPU() time.Duration { return processCPU(os.Getpid()) }

// residentKiB returns the resident memory of a process in KiB, or 0 if the system does not report
// it. Mapped files, such as a log, count only if files is true.
func residentKiB(pid int, files bool) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	sum := statusKiB(b, "RssAnon:")
	if files {
		sum = statusKiB(b, "VmRSS:")
	}
	return sum
}

func statusKiB(status []byte, name string) int64 {
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			return leadingNumber(bytes.TrimSpace(rest))
		}
	}
	return 0
}

// sleep waits for d, or for the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
