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

// forgetStale unmounts what processes that are gone have left: those that were killed could not.
// This process must have mounted nothing. What cannot be unmounted stays: it harms nobody but who
// looks at it.
func forgetStale() {
	table, _ := os.ReadFile("/proc/self/mountinfo") // without one there is nothing to do
	for _, dir := range staleMounts(string(table), gone) {
		_ = syscall.Unmount(dir, syscall.MNT_DETACH)
	}
}

// gone reports whether a process has ended. This process has mounted nothing yet: what has its
// number is of one before it.
func gone(pid int) bool {
	return pid == os.Getpid() || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// staleMounts gives the directories of a table, as of mountinfo, where file systems of processes
// that are gone are mounted.
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
