package disks

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	rounds = flag.Int("disks.rounds", 10, "how often the disk of TestSyncWhileFailing fails")
	cuts   = flag.Int("disks.cuts", 0, "how often TestSyncWhileCut cuts the power")
)

const (
	syncers  = 8 // files that are written to
	syncSize = 500
)

// TestSyncWhileFailing: a sync that succeeds while the disk fails has done what it says.
func TestSyncWhileFailing(t *testing.T) {
	d := SeveralToFail(t, 1)[0]
	for range *rounds {
		for _, lie := range d.lies(t, func() { d.Fail(); time.Sleep(rand.N(20 * time.Millisecond)); d.Cut() }) {
			t.Error(lie)
		}
	}
}

// TestSyncWhileCut counts what a file system says that is shut down while files are synced. It is
// no test of Parley, and says how far FS_IOC_SHUTDOWN may be trusted.
func TestSyncWhileCut(t *testing.T) {
	if *cuts == 0 {
		t.Skip("-disks.cuts asks for it")
	}
	d, lies := New(t), 0
	for range *cuts {
		for _, lie := range d.lies(t, d.Cut) {
			lies++
			t.Log(lie)
		}
	}
	t.Logf("%d syncs of %d files in %d cuts have succeeded, and what they had synced is gone", lies, syncers, *cuts)
}

// lies has files written and synced until end ends the disk, and says which of them were synced and
// are not there.
func (d *Disk) lies(t *testing.T, end func()) (lies []string) {
	t.Helper()
	dir := filepath.Join(d.root, fmt.Sprint(rand.Uint64()))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d.Sync()
	var synced [syncers]atomic.Int64
	var writers sync.WaitGroup
	for i := range syncers {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		writers.Go(func() {
			defer f.Close()
			for data := make([]byte, syncSize); ; {
				if _, err := f.Write(data); err != nil {
					return
				}
				if err := f.Sync(); err != nil {
					return
				}
				synced[i].Add(syncSize)
			}
		})
	}
	// the end falls at random
	for begun := time.Now(); synced[0].Load() < 20*syncSize; time.Sleep(rand.N(20 * time.Millisecond)) {
		if time.Since(begun) > time.Minute {
			t.Fatalf("%d bytes synced in a minute: too little to prove anything", synced[0].Load())
		}
	}
	end()
	writers.Wait()
	d.Restore()
	for i := range syncers {
		said, is := synced[i].Load(), int64(0)
		if st, err := os.Stat(filepath.Join(dir, fmt.Sprint(i))); err == nil {
			is = st.Size()
		}
		if is < said {
			lies = append(lies, fmt.Sprintf("%d bytes of a file were synced, and %d are there", said, is))
		}
	}
	return lies
}
