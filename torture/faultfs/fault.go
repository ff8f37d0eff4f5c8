//go:build linux

package faultfs

import (
	"fmt"
	"syscall"
)

// Kind is a kind of operation.
type Kind int

// The kinds.
const (
	// Write is one write of at most 128 KiB: the kernel cuts a larger one into several.
	Write Kind = iota
	// Sync is fsync or fdatasync, of a file or a directory.
	Sync
	// Truncate is a change of a file's size by truncate or fallocate.
	Truncate

	kinds
)

func (k Kind) String() string { return [kinds]string{"write", "sync", "truncate"}[k] }

// Kinds are all of them.
var Kinds = []Kind{Write, Sync, Truncate}

// Op is one operation.
type Op struct {
	Kind Kind
	// Path is that of the file or directory, below the mount.
	Path string
	// Offset is where a write begins.
	Offset int64
}

// Counts says how many operations of each kind there were.
type Counts [kinds]int

func (c Counts) String() string {
	return fmt.Sprintf("%d writes, %d syncs, %d truncates", c[Write], c[Sync], c[Truncate])
}

// Fault is one operation that fails. The zero Fault is that nothing of the next write is written,
// and EIO.
type Fault struct {
	Kind Kind
	// Of says which operations of the kind count; nil: all. It is quick and keeps nothing.
	Of func(Op) bool
	// Nth is which of them, from Fail on; below 1 is taken as 1, the next.
	Nth int
	// Errno is what the caller is told; 0 means EIO.
	Errno syscall.Errno
	// Short, of a write: the caller is told that the first half was written, and gets Errno for the
	// next write to that file.
	Short bool
	// Done, of a write or truncate: it is done, and fails all the same.
	Done bool
	// Lost, of a sync of a file: what was written to the file since its last sync is no longer there.
	// The kernel still shows it to who has the file open, as it does after a disk has dropped pages.
	Lost bool
}

func (f Fault) String() string {
	s := fmt.Sprintf("%s %d: %s", f.Kind, f.Nth, f.errno().Error())
	for _, w := range []struct {
		set  bool
		word string
	}{{f.Short, "short"}, {f.Done, "done all the same"}, {f.Lost, "with what was written"}} {
		if w.set {
			s += ", " + w.word
		}
	}
	return s
}

func (f Fault) errno() syscall.Errno {
	if f.Errno == 0 {
		return syscall.EIO
	}
	return f.Errno
}
