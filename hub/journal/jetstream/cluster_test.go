package jetstream_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/parleyhub/parley/hub/journal/jetstream"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/internal/natscluster"
)

// TestServersComeAndGo: writers at three nodes continue while each of three servers restarts, and
// then all at once. Each acknowledged record is there once, and the nodes agree on all records.
func TestServersComeAndGo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	c := cluster(t, &natscluster.Options{Servers: 3})
	js := nodes(t, c, 3, 3)
	var stop atomic.Bool
	var written atomic.Int64
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for i := 0; !stop.Load(); i++ {
				appendAnyway(t, js[w%len(js)], fmt.Sprint("c", i%3), fmt.Sprintf("w%d i%d", w, i))
				written.Add(1)
			}
		})
	}
	progress := func() {
		t.Helper()
		for _, j := range js {
			moved := j.Moved()
			for at := j.Last(); j.Last() < at+20; moved = j.Moved() {
				select {
				case <-moved:
				case <-t.Context().Done():
					t.Fatal("nothing is written any more")
				}
			}
		}
	}
	progress()
	for i := range 3 {
		c.Stop(i)
		progress()
		if err := c.Restart(i); err != nil {
			t.Fatal(err)
		}
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		c.Stop(i)
	}
	for i := range 3 {
		if err := c.Restart(i); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	progress()
	stop.Store(true)
	wg.Wait()
	checkSame(t, js)
	checkOnce(t, js[0], int(written.Load()))
	fresh := nodes(t, c, 1, 3)
	checkSame(t, []*jetstream.Journal{js[0], fresh[0]})
	journaltest.Append(t, fresh[0], "new", 0, "x")
}
