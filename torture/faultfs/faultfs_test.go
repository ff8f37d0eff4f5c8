//go:build linux

package faultfs_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/parleyhub/parley/torture/faultfs"
)

// mount returns a mounted file system with an open file, which holds what was synced.
func mount(t *testing.T) (*faultfs.FS, *os.File) {
	t.Helper()
	if missing := faultfs.Missing(); missing != "" {
		t.Skip("left out: needs " + missing)
	}
	m := faultfs.Mount(t, t.TempDir())
	f, err := os.OpenFile(filepath.Join(m.Dir, "file"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.WriteString("first"); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	return m, f
}

// below checks what is in the directory below.
func below(t *testing.T, m *faultfs.FS, want string) {
	t.Helper()
	if b, err := os.ReadFile(filepath.Join(m.Under, "file")); err != nil || string(b) != want {
		t.Errorf("the file below holds %q, %v, expected %q", b, err, want)
	}
}

func TestCounts(t *testing.T) {
	m, f := mount(t)
	if got, want := m.Counts(), (faultfs.Counts{1, 1, 0}); got != want {
		t.Errorf("%s, expected %s", got, want)
	}
	d, err := os.Open(m.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := errors.Join(f.Truncate(3), syscall.Fdatasync(int(f.Fd())), d.Sync()); err != nil {
		t.Fatal(err)
	}
	if got, want := m.Counts(), (faultfs.Counts{1, 3, 1}); got != want {
		t.Errorf("%s, expected %s", got, want)
	}
	below(t, m, "fir")
}

func TestFailedWrite(t *testing.T) {
	for _, c := range []struct {
		fault faultfs.Fault
		n     int
		want  string
	}{
		{faultfs.Fault{Nth: 2}, 0, "first."},
		{faultfs.Fault{Nth: 2, Errno: syscall.ENOSPC}, 0, "first."},
		{faultfs.Fault{Nth: 2, Errno: syscall.ENOSPC, Short: true}, 3, "first.sec"},
		{faultfs.Fault{Nth: 2, Done: true}, 0, "first.second"},
	} {
		t.Run(c.fault.String(), func(t *testing.T) {
			m, f := mount(t)
			m.Fail(c.fault)
			if _, err := f.WriteString("."); err != nil || m.Hit() {
				t.Errorf("the write before: %v", err)
			}
			want := c.fault.Errno
			if want == 0 {
				want = syscall.EIO
			}
			n, err := f.WriteString("second")
			if n != c.n || !errors.Is(err, want) || !m.Hit() {
				t.Errorf("%d bytes written, %v, expected %d and %v", n, err, c.n, want)
			}
			below(t, m, c.want)
			if _, err := f.WriteString("!"); err != nil {
				t.Errorf("the write after: %v", err)
			}
		})
	}
}

func TestFaultOfSome(t *testing.T) {
	m, f := mount(t)
	m.Fail(faultfs.Fault{Of: func(op faultfs.Op) bool { return op.Path == "file" && op.Offset >= 100 }})
	if err := second(f, "x"); err != nil || m.Hit() {
		t.Errorf("another write: %v", err)
	}
	if _, err := f.WriteAt([]byte("x"), 100); !errors.Is(err, syscall.EIO) || !m.Hit() {
		t.Errorf("the write: %v", err)
	}
	if ops := m.Ops(); len(ops) != 2 || ops[1] != (faultfs.Op{Kind: faultfs.Write, Path: "file", Offset: 100}) {
		t.Errorf("operations %v", ops)
	}
}

func TestFailedTruncate(t *testing.T) {
	m, f := mount(t)
	m.Fail(faultfs.Fault{Kind: faultfs.Truncate})
	if err := f.Truncate(100); !errors.Is(err, syscall.EIO) {
		t.Errorf("truncate: %v", err)
	}
	below(t, m, "first")
	if err := f.Truncate(1); err != nil {
		t.Errorf("truncate again: %v", err)
	}
	below(t, m, "f")
}

func TestFailedSync(t *testing.T) {
	for _, lost := range []bool{false, true} {
		m, f := mount(t)
		if err := errors.Join(f.Truncate(8), second(f, "x"), second(f, "yz")); err != nil {
			t.Fatal(err)
		}
		m.Fail(faultfs.Fault{Kind: faultfs.Sync, Lost: lost})
		if err := f.Sync(); !errors.Is(err, syscall.EIO) {
			t.Errorf("sync: %v", err)
		}
		if lost {
			below(t, m, "first")
		} else {
			below(t, m, "yzrst\x00\x00\x00")
		}
		if err := f.Sync(); err != nil {
			t.Errorf("sync again: %v", err)
		}
	}
}

// TestDead: from Die to Heal nothing is done, and everything says so.
func TestDead(t *testing.T) {
	m, f := mount(t)
	m.Die()
	for what, do := range map[string]func() error{
		"write": func() error { return second(f, "x") }, "truncate": func() error { return f.Truncate(1) }, "sync": f.Sync,
	} {
		for range 2 {
			if err := do(); !errors.Is(err, syscall.EIO) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	below(t, m, "first")
	m.Heal()
	if err := errors.Join(second(f, "x"), f.Sync()); err != nil {
		t.Errorf("healed: %v", err)
	}
	below(t, m, "xirst")
}

// TestUncounted checks that operations that are not counted can fail, too.
func TestUncounted(t *testing.T) {
	if missing := faultfs.Missing(); missing != "" {
		t.Skip("left out: needs " + missing)
	}
	m := faultfs.MountUncounted(t, t.TempDir())
	name := filepath.Join(m.Dir, "file")
	if err := errors.Join(os.WriteFile(name, []byte("first"), 0o600), os.Truncate(name, 3)); err != nil {
		t.Fatal(err)
	}
	m.Die()
	if err := os.Truncate(name, 1); !errors.Is(err, syscall.EIO) {
		t.Errorf("truncate: %v", err)
	}
	below(t, m, "fir")
	if ops := m.Ops(); len(ops) > 0 {
		t.Errorf("operations %v", ops)
	}
}

func second(f *os.File, s string) error {
	_, err := f.WriteAt([]byte(s), 0)
	return err
}

func TestHold(t *testing.T) {
	m, f := mount(t)
	h := m.Hold(t)
	done := make(chan error, 1)
	for range 2 {
		go func() { done <- f.Sync() }()
		held := h.Held(t)
		if held.Name != "file" {
			t.Errorf("%q waits", held.Name)
		}
		if len(done) > 0 {
			t.Fatal("the sync has ended while it was held")
		}
		held.Let()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	go func() { done <- f.Sync() }()
	h.Held(t)
	m.Heal()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
