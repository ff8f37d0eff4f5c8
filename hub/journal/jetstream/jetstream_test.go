package jetstream_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/jetstream"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/internal/natscluster"
)

// cluster starts servers for a test.
func cluster(t testing.TB, o *natscluster.Options) *natscluster.Cluster {
	t.Helper()
	c, err := natscluster.Start(t.Context(), t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func open(t testing.TB, url, dir string, o jetstream.Options) *jetstream.Journal {
	t.Helper()
	j, err := jetstream.Open(t.Context(), url, dir, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// TestConformance is what every journal must pass, on one server that syncs always.
func TestConformance(t *testing.T) {
	c := cluster(t, nil)
	var names atomic.Int64
	type where struct{ name, dir string }
	var places sync.Map // by journal
	journaltest.Run(t, func(*testing.T) journaltest.Factory {
		openAt := func(t testing.TB, w where) journal.Journal {
			j := open(t, c.URL(), w.dir, jetstream.Options{Name: w.name, System: c.SystemURL()})
			places.Store(j, w)
			return j
		}
		again := func(t testing.TB, j journal.Journal) journal.Journal {
			w, _ := places.Load(j)
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			return openAt(t, w.(where))
		}
		return journaltest.Factory{
			Open: func(t testing.TB) journal.Journal {
				return openAt(t, where{fmt.Sprint("test-", names.Add(1)), filepath.Join(t.TempDir(), "replica")})
			},
			Reopen: again,
			Crash: func(t testing.TB, j journal.Journal) journal.Journal {
				return again(t, j)
			},
		}
	})
}
