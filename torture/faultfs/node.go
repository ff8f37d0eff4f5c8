//go:build linux

package faultfs

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// node is a file or directory.
type node struct {
	*fs.LoopbackNode
	fs *FS

	mu       sync.Mutex // guards the field below, and is held over each change of the file
	unsynced []before
}

// before is what a change of a file has replaced.
type before struct {
	off  int64
	data []byte
	size int64 // of the file
}

// WrapChild makes a node of each file and directory that is looked up.
func (n *node) WrapChild(_ context.Context, child fs.InodeEmbedder) fs.InodeEmbedder {
	return &node{LoopbackNode: child.(*fs.LoopbackNode), fs: n.fs}
}

// under is the path of the node in the directory below.
func (n *node) under() string { return filepath.Join(n.fs.Under, n.Path(n.Root())) }

// Open opens a file for reading too, so that what a write replaces can be kept.
func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	f, err := os.OpenFile(n.under(), readable(flags), 0)
	if err != nil {
		return nil, 0, fs.ToErrno(err)
	}
	return &file{LoopbackFile: fs.NewLoopbackFileFromOS(f), under: f, node: n}, 0, 0
}

// Create makes and opens a file.
func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode,
	fs.FileHandle, uint32, syscall.Errno) {
	path := filepath.Join(n.under(), name)
	f, err := os.OpenFile(path, readable(flags)|os.O_CREATE, os.FileMode(mode))
	if err != nil {
		return nil, nil, 0, fs.ToErrno(err)
	}
	made, errno := n.Lookup(ctx, name, out)
	if errno != 0 {
		f.Close()
		return nil, nil, 0, errno
	}
	return made, &file{LoopbackFile: fs.NewLoopbackFileFromOS(f), under: f, node: made.Operations().(*node)}, 0, 0
}

func readable(flags uint32) int {
	flags &^= syscall.O_APPEND | fuse.FMODE_EXEC
	if flags&syscall.O_ACCMODE == syscall.O_WRONLY {
		flags = flags&^syscall.O_ACCMODE | syscall.O_RDWR
	}
	return int(flags)
}

// Setattr counts a change of the size.
func (n *node) Setattr(ctx context.Context, h fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if _, ok := in.GetSize(); !ok {
		return n.LoopbackNode.Setattr(ctx, h, in, out)
	}
	return n.resize(func() syscall.Errno { return n.LoopbackNode.Setattr(ctx, h, in, out) })
}

// resize changes the size of the file, unless that is the operation that fails.
func (n *node) resize(change func() syscall.Errno) syscall.Errno {
	fault := n.fs.meet(Op{Kind: Truncate, Path: n.Path(n.Root())})
	if fault != nil && !fault.Done {
		return fault.errno()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	size, errno := n.size()
	if errno == 0 {
		errno = change()
	}
	if errno != 0 {
		return errno
	}
	if !n.fs.uncounted {
		n.unsynced = append(n.unsynced, before{size: size})
	}
	if fault != nil {
		return fault.errno()
	}
	return 0
}

func (n *node) size() (int64, syscall.Errno) {
	var st syscall.Stat_t
	err := syscall.Stat(n.under(), &st)
	return st.Size, fs.ToErrno(err)
}

// drop puts the file back to its last sync.
func (n *node) drop() syscall.Errno {
	n.mu.Lock()
	defer n.mu.Unlock()
	f, err := os.OpenFile(n.under(), os.O_RDWR, 0)
	if err != nil {
		return fs.ToErrno(err)
	}
	defer f.Close()
	for len(n.unsynced) > 0 {
		b := n.unsynced[len(n.unsynced)-1]
		if _, err := f.WriteAt(b.data, b.off); err != nil {
			return fs.ToErrno(err)
		}
		if err := f.Truncate(b.size); err != nil {
			return fs.ToErrno(err)
		}
		n.unsynced = n.unsynced[:len(n.unsynced)-1]
	}
	return 0
}

// dirHandle is what can be done with an open directory.
type dirHandle interface {
	fs.FileReaddirenter
	fs.FileReleasedirer
	fs.FileSeekdirer
	fs.FileFsyncdirer
}

// dir is an open directory.
type dir struct {
	dirHandle
	node *node
}

// OpendirHandle opens a directory.
func (n *node) OpendirHandle(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	h, fuseFlags, errno := n.LoopbackNode.OpendirHandle(ctx, flags)
	if errno != 0 {
		return nil, 0, errno
	}
	return &dir{dirHandle: h.(dirHandle), node: n}, fuseFlags, 0
}

// Fsyncdir is a sync of the directory.
func (d *dir) Fsyncdir(ctx context.Context, flags uint32) syscall.Errno {
	d.node.fs.pause(filepath.Base(d.node.under()))
	if fault := d.node.fs.meet(Op{Kind: Sync, Path: d.node.Path(d.node.Root())}); fault != nil {
		return fault.errno()
	}
	return d.dirHandle.Fsyncdir(ctx, flags)
}
