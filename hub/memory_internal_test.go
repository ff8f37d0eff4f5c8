package hub

// memory.go is tested from inside because its results are not visible otherwise.

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRoomInMemory(t *testing.T) {
	for _, c := range []struct {
		memory int64
		want   int
	}{{1 << 62, maxRoom}, {4 << 30, maxRoom}, {512 << 20, 128 << 20}, {1 << 20, minRoom}} {
		if got := roomIn(c.memory); got != c.want {
			t.Errorf("room in %d is %d, want %d", c.memory, got, c.want)
		}
	}
}

func TestMemoryLimits(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	const none = 1<<63 - 1
	write("two/system.slice/memory.max", "1000000\n")
	write("two/system.slice/parley.service/memory.max", "max\n")
	write("one/memory/memory.limit_in_bytes", "2000000\n")
	for _, c := range []struct {
		root, groups string
		want         int64
	}{
		{"two", "0::/system.slice/parley.service\n", 1_000_000},
		{"two", "0::/\n", none},
		{"one", "5:cpu:/\n4:hugetlb,memory:/docker/x\n0::/\n", 2_000_000},
		{"one", "nonsense\n", none},
	} {
		if got := groupLimit(write("cgroup", c.groups), filepath.Join(dir, c.root)); got != c.want {
			t.Errorf("limit of %q in %s: %d, want %d", c.groups, c.root, got, c.want)
		}
	}
	if got := groupLimit(filepath.Join(dir, "absent"), dir); got != none {
		t.Errorf("limit of no groups: %d", got)
	}
	if got := machineMemory(write("meminfo", "MemTotal:       1024 kB\nMemFree: 5 kB\n")); got != 1<<20 {
		t.Errorf("a machine of 1 MiB has %d", got)
	}
	if got := machineMemory(filepath.Join(dir, "absent")); got != none {
		t.Errorf("a machine that does not say: %d", got)
	}
}
