package hub

import (
	"math"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// Bounds of the default of MaxLoadedBytes, in bytes.
const (
	maxRoom = 256 << 20
	minRoom = 16 << 20
)

// roomIn returns the default of MaxLoadedBytes for a process that may use so many bytes of memory. It is a
// quarter of them: as much again may be garbage, and the rest is for connections, files and requests.
func roomIn(memory int64) int {
	return int(min(max(memory/4, minRoom), maxRoom))
}

// memoryLimit returns how many bytes the process may use: the least of GOMEMLIMIT, the limits of its control
// groups and the memory of the machine. It returns math.MaxInt64 if all are unknown.
func memoryLimit() int64 {
	return min(debug.SetMemoryLimit(-1), machineMemory("/proc/meminfo"), groupLimit("/proc/self/cgroup", "/sys/fs/cgroup"))
}

// machineMemory returns the memory of the machine in bytes, from a file in the format of /proc/meminfo.
func machineMemory(file string) int64 {
	b, err := os.ReadFile(file)
	_, rest, ok := strings.Cut(string(b), "MemTotal:")
	kib, _, _ := strings.Cut(rest, "kB")
	if err != nil || !ok {
		return math.MaxInt64
	}
	return bytesOf(kib, 1<<10)
}

// groupLimit returns the least memory limit of the control groups in file, which has the format of
// /proc/self/cgroup. Both versions of control groups are read below root.
func groupLimit(file, root string) int64 {
	limit := int64(math.MaxInt64)
	groups, err := os.ReadFile(file)
	if err != nil {
		return limit // another system
	}
	for line := range strings.Lines(string(groups)) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(line, ":")
		switch {
		case controllers == "":
			limit = min(limit, limitFrom(root, group, "memory.max"))
		case slices.Contains(strings.Split(controllers, ","), "memory"):
			limit = min(limit, limitFrom(root+"/memory", group, "memory.limit_in_bytes"))
		}
	}
	return limit
}

// limitFrom returns the least limit of a group and the groups above it.
func limitFrom(root, group, name string) int64 {
	limit := int64(math.MaxInt64)
	for at := path.Clean("/" + group); ; at = path.Dir(at) {
		if b, err := os.ReadFile(path.Join(root, at, name)); err == nil {
			limit = min(limit, bytesOf(string(b), 1))
		}
		if at == "/" {
			return limit
		}
	}
}

// bytesOf returns s times unit, or math.MaxInt64 if s is not a number.
func bytesOf(s string, unit int64) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return math.MaxInt64
	}
	return n * unit
}
