package bolt_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
	"unsafe"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"go.etcd.io/bbolt"
)

// The kernel fails the sync of the meta page: the file's descriptor is a pipe's by then.
func TestFailedSyncOfMeta(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir(), nil)
	journaltest.Append(t, j, "c", 0, "first")
	fd := descriptor(j.LogDB())
	kept, err := syscall.Dup(fd)
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	unhook := hookWrites(t, j.LogDB(), func(b []byte, off int64, write writeAt) (int, error) {
		n, err := write(b, off)
		if isMeta(j.LogDB(), off) {
			err = errors.Join(err, syscall.Dup3(int(w.Fd()), fd, syscall.O_CLOEXEC))
		}
		return n, err
	})
	_, err = journal.Append(t.Context(), j, journaltest.Batch("c", 1, "second"))
	unhook()
	if e := errors.Join(syscall.Dup3(kept, fd, syscall.O_CLOEXEC), syscall.Close(kept)); e != nil {
		t.Fatal(e)
	}
	if !errors.Is(err, syscall.EINVAL) {
		t.Errorf("the sync did not fail: %v", err)
	}
	checkUnknown(t, j, err)
	closeJournal(t, j)
	journaltest.CheckInvariants(t, open(t, j.Dir(), nil))
}

func descriptor(db *bbolt.DB) int {
	field := reflect.ValueOf(db).Elem().FieldByName("file")
	return int((*(**os.File)(unsafe.Pointer(field.UnsafeAddr()))).Fd())
}

// A file system that is full.
func TestStorageFullOnTmpfs(t *testing.T) {
	t.Parallel()
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=4m"); err != nil {
		leaveOut(t, fmt.Sprintf("a really full disk (mount of a tmpfs: %v; needs root)", err))
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	dir := filepath.Join(mount, "data")
	j := open(t, dir, nil)
	event := string(make([]byte, 10<<10))
	var seq int64
	for {
		h, err := journal.Append(t.Context(), j, journaltest.Batch("c", seq, event))
		if errors.Is(err, journal.ErrStorageFull) {
			break
		}
		if err != nil || h.Seq > 1000 {
			t.Fatalf("append %d: %v", seq, err)
		}
		seq = h.Seq
	}
	if seq < 100 {
		t.Errorf("full after %d events of 10 KiB in 4 MiB", seq)
	}
	for range 3 {
		if _, err := journal.Append(t.Context(), j, journaltest.Batch("c", seq, event)); !errors.Is(err, journal.ErrStorageFull) {
			t.Fatalf("append to a full disk: %v", err)
		}
		journaltest.CheckInvariants(t, j)
	}
	if _, err := j.PutBlob(make([]byte, 1<<20)); !errors.Is(err, journal.ErrStorageFull) {
		t.Errorf("blob on a full disk: %v", err)
	}
	closeJournal(t, j)
	j = open(t, dir, nil) // on the full disk
	journaltest.CheckInvariants(t, j)
	if _, err := journal.Append(t.Context(), j, journaltest.Batch("c", seq, event)); !errors.Is(err, journal.ErrStorageFull) {
		t.Fatalf("append to a full disk after reopening: %v", err)
	}
	if err := syscall.Mount("tmpfs", mount, "tmpfs", syscall.MS_REMOUNT, "size=16m"); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		seq = journaltest.Append(t, j, "c", seq, event).Seq
	}
	journaltest.CheckInvariants(t, j)
	closeJournal(t, j)
	j = open(t, dir, nil)
	journaltest.CheckInvariants(t, j)
	if h, err := j.Head("c"); err != nil || h.Seq != seq {
		t.Errorf("head: %+v, %v, want %d", h, err, seq)
	}
	closeJournal(t, j)
}

// leaveOut leaves a test out because something is missing. CI must not leave it out.
func leaveOut(t *testing.T, missing string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is missing, and CI leaves nothing out", missing)
	}
	t.Skipf("LEFT OUT: %s is missing on this machine", missing)
}
