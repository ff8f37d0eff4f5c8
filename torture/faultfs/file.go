//go:build linux

package faultfs

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
)

// file is an open file.
type file struct {
	*fs.LoopbackFile
	under *os.File // the same one; LoopbackFile closes it
	node  *node
	next  syscall.Errno // of the next write, after a short one; guarded by node.mu
}

// PassthroughFd says that the kernel must not write past this file.
func (f *file) PassthroughFd() (int, bool) { return 0, false }

// Write writes, unless that is the operation that fails.
func (f *file) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	fault := f.node.fs.meet(Op{Kind: Write, Path: f.node.Path(f.node.Root()), Offset: off})
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	if errno := f.next; errno != 0 {
		f.next = 0
		return 0, errno
	}
	switch {
	case fault == nil:
		return f.write(ctx, data, off)
	case fault.Short && len(data) > 1:
		f.next = fault.errno()
		return f.write(ctx, data[:len(data)/2], off)
	case fault.Done:
		if _, errno := f.write(ctx, data, off); errno != 0 {
			return 0, errno
		}
	}
	return 0, fault.errno()
}

// write keeps what it replaces.
func (f *file) write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	if f.node.fs.uncounted {
		return f.LoopbackFile.Write(ctx, data, off)
	}
	b := before{off: off, data: make([]byte, len(data))}
	n, err := f.under.ReadAt(b.data, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fs.ToErrno(err)
	}
	b.data = b.data[:n]
	var errno syscall.Errno
	if b.size, errno = f.node.size(); errno != 0 {
		return 0, errno
	}
	written, errno := f.LoopbackFile.Write(ctx, data, off)
	if errno == 0 {
		f.node.unsynced = append(f.node.unsynced, b)
	}
	return written, errno
}

// Allocate is fallocate.
func (f *file) Allocate(ctx context.Context, off, size uint64, mode uint32) syscall.Errno {
	return f.node.resize(func() syscall.Errno { return f.LoopbackFile.Allocate(ctx, off, size, mode) })
}

// Fsync is fsync or fdatasync. It does not make the disk below sync: no test of this package cuts
// the power.
func (f *file) Fsync(context.Context, uint32) syscall.Errno {
	f.node.fs.pause(filepath.Base(f.under.Name()))
	fault := f.node.fs.meet(Op{Kind: Sync, Path: f.node.Path(f.node.Root())})
	if fault == nil {
		f.node.mu.Lock()
		defer f.node.mu.Unlock()
		f.node.unsynced = nil
		return 0
	}
	if fault.Lost {
		if errno := f.node.drop(); errno != 0 {
			return errno
		}
	}
	return fault.errno()
}
