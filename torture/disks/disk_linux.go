package disks

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/torture/faultfs"
)

const (
	// diskSize is the size of an image in bytes. It takes the room of what is written to it.
	diskSize = 1 << 30
	// shutdown is FS_IOC_SHUTDOWN, and noLogFlush its argument that loses what is not on the disk: the
	// file system's own journal too.
	shutdown   = 0x8004587d
	noLogFlush = 2
)

// Disk is an ext4 file system in a file, mounted where only the thread of the test and the
// processes that it starts see it: so runs do not meet, and one that is killed leaves nothing
// behind. The goroutine of the test alone uses it.
type Disk struct {
	t       testing.TB
	image   string
	root    string // where it is mounted
	mounted bool
	under   *faultfs.FS // where the image is, of a disk that can fail
}

// New makes a disk for a test that is about some promises, or leaves the test out where that cannot
// be done.
func New(t testing.TB, ids ...promise.ID) *Disk {
	t.Helper()
	return Several(t, 1, ids...)[0]
}

// Several is New for some disks.
func Several(t testing.TB, n int, ids ...promise.ID) []*Disk {
	t.Helper()
	Need(t, ids...)
	return several(t, n, func(*Disk) {}, ids)
}

// SeveralToFail is Several for disks that Fail can be called of. They are slower: this process does
// what they do.
func SeveralToFail(t testing.TB, n int, ids ...promise.ID) []*Disk {
	t.Helper()
	Need(t, ids...)
	if missing := faultfs.Missing(); missing != "" {
		promise.Left(t, "needs "+missing, ids...)
	}
	return several(t, n, func(d *Disk) {
		d.under = faultfs.MountUncounted(t, filepath.Dir(d.image))
		d.image = filepath.Join(d.under.Dir, filepath.Base(d.image))
	}, ids)
}

// several makes disks, of which prepare sees each before it is used.
func several(t testing.TB, n int, prepare func(*Disk), ids []promise.ID) (all []*Disk) {
	t.Helper()
	for range n {
		dir := t.TempDir()
		d := &Disk{t: t, image: filepath.Join(dir, "image"), root: filepath.Join(t.TempDir(), "disk")}
		if err := errors.Join(os.WriteFile(d.image, nil, 0o600), os.Truncate(d.image, diskSize),
			os.Mkdir(d.root, 0o700)); err != nil {
			t.Fatal(err)
		}
		prepare(d)
		t.Cleanup(d.close)
		d.run("mkfs.ext4", "-q", "-F", d.image)
		if err := d.mount(); err != nil {
			promise.Left(t, fmt.Sprintf("needs to mount %d disks, and cannot mount number %d: %v", n, len(all)+1, err), ids...)
		}
		all = append(all, d)
	}
	return all
}

// Need skips a test if disks are not possible. Otherwise it moves the thread to its own mount
// namespace, permanently.
func Need(t testing.TB, ids ...promise.ID) {
	t.Helper()
	if os.Getuid() != 0 {
		promise.Left(t, "needs root, to mount a disk", ids...)
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		promise.Left(t, "needs loop devices: "+err.Error(), ids...)
	}
	for _, program := range []string{"mkfs.ext4", "mount", "umount"} {
		_, err := exec.LookPath(program)
		if err != nil && os.Getenv("CI") == "true" {
			t.Fatalf("%s is missing, and CI leaves nothing out", program)
		}
		if err != nil {
			promise.Left(t, "needs "+program, ids...)
		}
	}
	runtime.LockOSThread() // never unlocked: the thread ends with the test
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		promise.Left(t, "needs a mount namespace: "+err.Error(), ids...)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		promise.Left(t, "needs private mounts: "+err.Error(), ids...)
	}
}

// Data is the directory on it for a program, which is not made.
func (d *Disk) Data() string { return filepath.Join(d.root, "data") }

func (d *Disk) run(program string, args ...string) {
	d.t.Helper()
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		d.t.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// mount mounts the image. Its loop device ends with the last mount of it.
func (d *Disk) mount() error {
	if out, err := exec.Command("mount", "-o", "loop", d.image, d.root).CombinedOutput(); err != nil {
		return fmt.Errorf("mount: %w: %s", err, out)
	}
	d.mounted = true
	return nil
}

func (d *Disk) unmount() error {
	if !d.mounted {
		return nil
	}
	out, err := exec.Command("umount", d.root).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	d.mounted = false
	return nil
}

// close takes the disk away, whatever has befallen it.
func (d *Disk) close() {
	if err := d.unmount(); err != nil {
		d.t.Errorf("unmount: %v", err)
		_ = syscall.Unmount(d.root, syscall.MNT_DETACH) // better than a disk that stays
	}
}

// Fail is the end of a disk of SeveralToFail: from now on every write and every sync fails, and
// says so. The power is to be cut next.
func (d *Disk) Fail() { d.under.Die() }

// Cut cuts the power: nothing reaches the disk any more, and data in memory is lost.
//
// If the result of a sync matters, the writers must be stopped first (SIGSTOP), or the disk must
// have failed. A shutdown of the file system during an fsync can let the fsync succeed although the
// new size of the file was not written. TestSyncWhileCut counts how often.
func (d *Disk) Cut() {
	d.t.Helper()
	f, err := os.Open(d.root)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	how := uint32(noLogFlush)
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), shutdown, uintptr(unsafe.Pointer(&how))); errno != 0 {
		d.t.Fatalf("cut: %v", errno)
	}
}

// Restore restores the power. No process may use the disk.
func (d *Disk) Restore() {
	d.t.Helper()
	err := d.unmount()
	if d.under != nil {
		d.under.Heal()
	}
	if err == nil {
		err = d.mount()
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// ballast is the file that takes all room, and leastPiece the smallest piece of room that is worth
// taking, in bytes.
const (
	ballast    = "ballast"
	leastPiece = 4 << 10
)

// Fill uses all space of the disk. Free frees it.
func (d *Disk) Fill() {
	d.t.Helper()
	f, err := os.OpenFile(filepath.Join(d.root, ballast), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	var at int64
	for piece := int64(diskSize); piece >= leastPiece; {
		switch err := syscall.Fallocate(int(f.Fd()), 0, at, piece); {
		case err == nil:
			at += piece
		case errors.Is(err, syscall.ENOSPC):
			piece /= 2
		default:
			d.t.Fatalf("fill: %v", err)
		}
	}
}

// Free frees the space of Fill.
func (d *Disk) Free() {
	d.t.Helper()
	if err := os.Remove(filepath.Join(d.root, ballast)); err != nil {
		d.t.Fatal(err)
	}
}

// Sync writes all of the disk that is in memory.
func (d *Disk) Sync() {
	d.t.Helper()
	d.run("sync", "-f", d.root)
}
