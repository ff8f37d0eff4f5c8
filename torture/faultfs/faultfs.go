//go:build linux

package faultfs

import (
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Missing says what this machine lacks for a Mount; empty if nothing.
func Missing() string {
	if os.Geteuid() != 0 {
		return "root"
	}
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return "/dev/fuse"
	}
	f.Close()
	return ""
}

// FS is a mounted file system. Its methods may be called from any goroutine.
type FS struct {
	// Dir is where it is mounted, and Under the directory that it shows.
	Dir, Under string

	uncounted bool // and no sync loses anything

	mu    sync.Mutex // guards the fields below
	dead  bool
	ops   []Op
	fault *Fault
	left  int // operations until the fault
	hit   bool
	delay func() time.Duration
	hold  *Hold
}

// Mount mounts the directory under in another directory, until the end of the test.
func Mount(t testing.TB, under string) *FS {
	t.Helper()
	return mount(t, &FS{Dir: t.TempDir(), Under: under})
}

// MountUncounted is Mount for long tests. It keeps no operations and no replaced data, so Counts is
// zero and no fault can be Lost.
func MountUncounted(t testing.TB, under string) *FS {
	t.Helper()
	return mount(t, &FS{Dir: t.TempDir(), Under: under, uncounted: true})
}

func mount(t testing.TB, f *FS) *FS {
	t.Helper()
	forgetOnce()
	under := f.Under
	var st syscall.Stat_t
	if err := syscall.Stat(under, &st); err != nil {
		t.Fatal(err)
	}
	data := &fs.LoopbackRoot{Path: under, Dev: st.Dev}
	root := &node{LoopbackNode: &fs.LoopbackNode{RootData: data}, fs: f}
	data.RootNode = root
	o := &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: sourceOf(os.Getpid()), Name: "faultfs"}}
	server, err := fs.Mount(f.Dir, root, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Heal()
		if err := server.Unmount(); err == nil {
			return
		}
		if err := syscall.Unmount(f.Dir, syscall.MNT_DETACH); err != nil { // a process still has a file open
			t.Errorf("unmount %s: %v", f.Dir, err)
		}
	})
	return f
}

// Fail resets the counts, and makes one operation fail. It replaces a fault that has not occurred.
func (f *FS) Fail(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ops, f.hit = nil, false
	f.fault, f.left = &fault, max(fault.Nth, 1)
}

// Die makes every write, sync and truncate fail with EIO from now on, as a dead disk does. Earlier
// writes can be read.
func (f *FS) Die() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
}

// Slow lets every sync take so long more; nil takes it back.
func (f *FS) Slow(delay func() time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = delay
}

// Heal undoes Fail, Die, Slow and Hold, and resets the counts.
func (f *FS) Heal() {
	f.mu.Lock()
	hold := f.hold
	f.ops, f.fault, f.hit, f.dead, f.delay, f.hold = nil, nil, false, false, nil, nil
	f.mu.Unlock()
	if hold != nil {
		hold.release()
	}
}

// Ops returns the operations since Mount, Fail or Heal, in order.
func (f *FS) Ops() []Op {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.ops)
}

// Counts says how many operations there were since Mount, Fail or Heal.
func (f *FS) Counts() Counts {
	var c Counts
	for _, op := range f.Ops() {
		c[op.Kind]++
	}
	return c
}

// Hit reports whether the fault of Fail occurred.
func (f *FS) Hit() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hit
}

// meet counts an operation and returns its fault, or nil.
func (f *FS) meet(op Op) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.uncounted {
		f.ops = append(f.ops, op)
	}
	if f.dead {
		return &Fault{Kind: op.Kind}
	}
	if f.fault == nil || f.fault.Kind != op.Kind || f.fault.Of != nil && !f.fault.Of(op) {
		return nil
	}
	if f.left--; f.left > 0 {
		return nil
	}
	fault := f.fault
	f.fault, f.hit = nil, true
	return fault
}

// pause delays a sync as Slow and Hold require.
func (f *FS) pause(name string) {
	f.mu.Lock()
	delay, hold := f.delay, f.hold
	f.mu.Unlock()
	if hold != nil {
		hold.wait(name)
	}
	if delay != nil {
		time.Sleep(delay())
	}
}
