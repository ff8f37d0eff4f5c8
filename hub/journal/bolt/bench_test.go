package bolt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley/hub/journal"
)

// BenchmarkAppend is appends of 500 B to 1,000 conversations by some appenders, each waiting for its Done. Beside it stands
// what the disk does in the same run: appends of 4 KiB, each synced.
func BenchmarkAppend(b *testing.B) {
	for _, appenders := range []int{1, 64, 256} {
		b.Run(fmt.Sprint(appenders), func(b *testing.B) { benchmarkAppend(b, appenders) })
	}
}

func benchmarkAppend(b *testing.B, appenders int) {
	const conversations = 1000
	each := (conversations + appenders - 1) / appenders
	dir := b.TempDir()
	j := open(b, filepath.Join(dir, "data"), nil)
	event := make([]byte, 500)
	syncs := syncRate(b, dir)
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for a := range appenders {
		wg.Go(func() {
			seqs := make(map[string]int64) // an appender has conversations of its own
			done := make(chan error, 1)
			for i := 0; next.Add(1) <= int64(b.N); i++ {
				id := fmt.Sprintf("conversation-%d", i%each*appenders+a)
				j.Submit(journal.Batch{
					Conversation: id, After: seqs[id], Events: [][]byte{event},
					Done: func(_ journal.Head, err error) { done <- err },
				})
				if err := <-done; err != nil {
					b.Error(err)
					return
				}
				seqs[id]++
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ev/s")
	b.ReportMetric((syncs+syncRate(b, dir))/2, "fsync/s")
}

// syncRate is how often a second the disk appends 4 KiB durably.
func syncRate(b *testing.B, dir string) float64 {
	b.Helper()
	f, err := os.CreateTemp(dir, "sync-")
	if err != nil {
		b.Fatal(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	page := make([]byte, 4096)
	n := 0
	start := time.Now()
	for time.Since(start) < 250*time.Millisecond {
		if _, err := f.Write(page); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		n++
	}
	return float64(n) / time.Since(start).Seconds()
}

// BenchmarkRead is pages of 500 events of 500 B out of 100 conversations.
func BenchmarkRead(b *testing.B) {
	j := filled(b)
	b.ResetTimer()
	n := 0
	for i := 0; n < b.N; i++ {
		page, err := j.Read(fmt.Sprint("c", i%100), int64(i/100%2)*500, 500, 1<<20)
		if err != nil || len(page) != 500 {
			b.Fatal(len(page), err)
		}
		n += len(page)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "ev/s")
}

// BenchmarkVerify is the reading of everything.
func BenchmarkVerify(b *testing.B) {
	j := filled(b)
	b.ResetTimer()
	var n int64
	for n < int64(b.N) {
		rep, err := j.Verify(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		n += rep.Records
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "ev/s")
}

// filled has 100 conversations of 1,000 events.
func filled(b *testing.B) journal.Journal {
	b.Helper()
	j := open(b, filepath.Join(b.TempDir(), "data"), nil)
	event := make([]byte, 500)
	var wg sync.WaitGroup
	for seq := range int64(1000) {
		for c := range 100 {
			wg.Add(1)
			j.Submit(journal.Batch{
				Conversation: fmt.Sprint("c", c), After: seq, Events: [][]byte{event},
				Done: func(_ journal.Head, err error) {
					if err != nil {
						b.Error(err)
					}
					wg.Done()
				},
			})
		}
		if seq%100 == 99 {
			wg.Wait()
		}
	}
	return j
}
