package jetstream_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/jetstream"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/internal/natscluster"
)

// TestMain has the model played less often than where an opening is cheap, unless it is asked for.
func TestMain(m *testing.M) {
	flag.Set("rapid.checks", "20")
	flag.Parse()
	os.Exit(m.Run())
}

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
	j, err := tryOpen(t, url, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// tryOpen opens a journal, again while servers on a slow machine do not answer in time.
func tryOpen(t testing.TB, url, dir string, o jetstream.Options) (*jetstream.Journal, error) {
	t.Helper()
	for end := time.Now().Add(calm); ; {
		j, err := jetstream.Open(t.Context(), url, dir, &o)
		if !errors.Is(err, journal.ErrUnavailable) || time.Now().After(end) {
			return j, err
		}
	}
}

// TestConformance is what every journal must pass, on one server that syncs always.
func TestConformance(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	c := cluster(t, nil)
	var names atomic.Int64
	type where struct{ name, dir string }
	var places sync.Map // by journal
	journaltest.Run(t, func(*testing.T) journaltest.Factory {
		openAt := func(t testing.TB, w where) journal.Journal {
			j := open(t, c.URL(), w.dir, jetstream.Options{Name: w.name, System: c.SystemURL(), Patience: calm})
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
			// The process ends and the machine continues: the files are unchanged, and they are not
			// marked as intact.
			Crash: func(t testing.TB, j journal.Journal) journal.Journal {
				w, _ := places.Load(j)
				at := where{w.(where).name, filepath.Join(t.TempDir(), "replica")}
				if err := os.CopyFS(at.dir, os.DirFS(w.(where).dir)); err != nil {
					t.Fatal(err)
				}
				if err := j.Close(); err != nil {
					t.Fatal(err)
				}
				return openAt(t, at)
			},
		}
	})
}
