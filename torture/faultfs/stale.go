//go:build linux

package faultfs

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// What such a file system is in the table of mounts: its type, and its source without the number of
// the process that serves it.
const (
	fsType   = "fuse.faultfs"
	fsSource = "faultfs-"
)

func sourceOf(pid int) string { return fsSource + strconv.Itoa(pid) }

// forgetOnce is forgetStale before the first Mount of a process.
var forgetOnce = sync.OnceFunc(forgetStale)

// forgetStale unmounts the file systems of processes that were killed. This process must not have
// mounted any. What cannot be unmounted remains, without harm to others.
func forgetStale() {
	table, _ := os.ReadFile("/proc/self/mountinfo") // without one there is nothing to do
	for _, dir := range staleMounts(string(table), gone) {
		_ = syscall.Unmount(dir, syscall.MNT_DETACH)
	}
}

// gone reports whether a process has exited. This process has no mounts yet, so a mount with its id
// is of an earlier process.
func gone(pid int) bool {
	return pid == os.Getpid() || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// staleMounts returns the directories in a table of mountinfo at which processes that no longer
// exist have mounted file systems.
func staleMounts(table string, gone func(pid int) bool) (dirs []string) {
	for line := range strings.Lines(table) {
		before, after, _ := strings.Cut(line, " - ") // TYPE SOURCE OPTIONS come after it
		where, what := strings.Fields(before), strings.Fields(after)
		if len(where) < 5 || len(what) < 2 || what[0] != fsType {
			continue
		}
		number, ours := strings.CutPrefix(what[1], fsSource)
		if pid, err := strconv.Atoi(number); ours && err == nil && pid > 0 && gone(pid) {
			dirs = append(dirs, unescaped.Replace(where[4]))
		}
	}
	return dirs
}

// unescaped undoes what mountinfo does with a path.
var unescaped = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
