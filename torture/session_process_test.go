package torture

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// proc is a process: its number and when it was started, as numbers come again.
type proc struct {
	pid   int
	begun string
}

// processesIn returns the processes whose command line or environment names a directory. It returns
// none if the system does not show processes.
func processesIn(t *testing.T, dir string) []proc {
	t.Helper()
	var found []proc
	for pid, p := range processTable() {
		for _, name := range []string{"cmdline", "environ"} {
			b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
			if err == nil && pid != os.Getpid() && bytes.Contains(b, []byte(dir)) {
				found = append(found, p.proc)
				break
			}
		}
	}
	return found
}

// descendants returns all that a process has started, and what that has.
func descendants(of int) []proc {
	all := processTable()
	var found []proc
	for pid, p := range all {
		for up := p.parent; up > 1; up = all[up].parent {
			if up == of {
				found = append(found, all[pid].proc)
				break
			}
		}
	}
	return found
}

// alive returns those of some processes that are still there. One that is dead and waited for by no
// one yet counts as gone.
func alive(some []proc) []proc {
	all := processTable()
	var found []proc
	for _, p := range some {
		if now, there := all[p.pid]; there && now.begun == p.begun && now.state != "Z" {
			found = append(found, p)
		}
	}
	return found
}

type entry struct {
	proc
	parent int
	state  string
}

// processesSeen reports whether the system shows processes.
func processesSeen() bool { return len(processTable()) > 0 }

// processTable reads /proc. A process that ends meanwhile is left out.
func processTable() map[int]entry {
	table := map[int]entry{}
	if runtime.GOOS != "linux" {
		return table
	}
	names, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
	for _, name := range names {
		b, err := os.ReadFile(name)
		_, after, ok := bytes.Cut(b, []byte(") ")) // the name before it may hold spaces
		fields := strings.Fields(string(after))
		pid, err2 := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil || err2 != nil || !ok || len(fields) < 20 {
			continue
		}
		parent, err := strconv.Atoi(fields[1])
		if err == nil {
			table[pid] = entry{proc{pid, fields[19]}, parent, fields[0]}
		}
	}
	return table
}
