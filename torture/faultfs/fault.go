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
	// Errno is the error of the call; 0 means EIO.
	Errno syscall.Errno
	// Short, of a write: the call reports that the first half was written. The next write to the file
	// fails with Errno.
	Short bool
	// Done, of a write or truncate: it is done, and fails all the same.
	Done bool
	// Lost, of a sync of a file: the writes since its last sync are lost. The kernel still shows them
	// to processes that have the file open, as after a disk has dropped pages.
	Lost bool
}

func (f Fault) String() string {
	s := fmt.Sprintf("%s %d: %s", f.Kind, f.Nth, f.errno().Error())
	for _, w := range []struct {
		set  bool
		word string
	}{{f.Short, "short"}, {f.Done, "but done"}, {f.Lost, "and the data is lost"}} {
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
