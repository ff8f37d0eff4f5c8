package disks

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// bootFile is where the system says which of its starts this is.
const bootFile = "/proc/sys/kernel/random/boot_id"

// Boot is which start of the machine it is, as the processes see it that the thread of the test
// starts: with the power it must become another one.
type Boot struct {
	t    testing.TB
	file string
}

// NewBoot returns a simulated boot of the machine. The thread must have its own mounts, as after
// Need.
func NewBoot(t testing.TB) *Boot {
	t.Helper()
	b := &Boot{t: t, file: filepath.Join(t.TempDir(), "boot_id")}
	b.Again()
	if err := syscall.Mount(b.file, bootFile, "", syscall.MS_BIND, ""); err != nil {
		t.Fatalf("another boot id: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(bootFile, syscall.MNT_DETACH) }) // it goes with the thread in any case
	return b
}

// Again is another start.
func (b *Boot) Again() {
	b.t.Helper()
	var id [16]byte
	rand.Read(id[:])
	text := fmt.Sprintf("%x-%x-%x-%x-%x\n", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	if err := os.WriteFile(b.file, []byte(text), 0o444); err != nil {
		b.t.Fatal(err)
	}
}
