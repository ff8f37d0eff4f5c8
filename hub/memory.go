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

// mostRoom is MaxLoadedBytes where there is enough memory, and leastRoom where there is next to none.
const (
	mostRoom  = 256 << 20
	leastRoom = 16 << 20
)

// roomIn gives MaxLoadedBytes for a process that may have some memory. A quarter of it, because as much again may be garbage, and there are sockets, files
// and what is under way.
func roomIn(memory int64) int {
	return int(min(max(memory/4, leastRoom), mostRoom))
}

// memoryLimit is what the process may have: GOMEMLIMIT, what its control groups allow, or what the machine has; as good as endless where nothing says so.
func memoryLimit() int64 {
	return min(debug.SetMemoryLimit(-1), machineMemory("/proc/meminfo"), groupLimit("/proc/self/cgroup", "/sys/fs/cgroup"))
}

// machineMemory reads what a machine has from a file of Linux.
func machineMemory(file string) int64 {
	b, err := os.ReadFile(file)
	_, rest, ok := strings.Cut(string(b), "MemTotal:")
	kib, _, _ := strings.Cut(rest, "kB")
	if err != nil || !ok {
		return math.MaxInt64
	}
	return bytesOf(kib, 1<<10)
}

// groupLimit gives the least limit of memory of the control groups, of either version, that a file says the process is in, below root.
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

// limitFrom gives the least limit of a group and those above it.
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

// bytesOf gives a number of units, endless where it is none.
func bytesOf(s string, unit int64) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return math.MaxInt64
	}
	return n * unit
}
