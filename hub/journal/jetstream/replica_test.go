package jetstream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
	"github.com/parleyhub/parley/hub/journal/jetstream"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/internal/natscluster"
)

// client returns a plain JetStream client.
func client(t testing.TB, c *natscluster.Cluster) natsjs.JetStream {
	t.Helper()
	nc, err := nats.Connect(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// fill appends to some conversations, of which one is closed.
func fill(t testing.TB, j journal.Journal) {
	t.Helper()
	for i := range 30 {
		b := journaltest.Batch(fmt.Sprint("c", i), 0, "a", "b")
		b.Labels = []string{"even", "odd"}[i%2 : i%2+1]
		b.Final = i == 7
		if _, err := journal.Append(t.Context(), j, b); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReplicaIsDerived: whatever becomes of a replica while it is closed, it is as those of the other nodes again when it is open.
func TestReplicaIsDerived(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	c := cluster(t, nil)
	other := nodes(t, c, 1, 0)[0]
	fill(t, other)
	set := func(t *testing.T, dir, key string, value any) {
		t.Helper()
		file := filepath.Join(dir, jetstream.ReplicaFile)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		m[key] = value
		if b, err = json.Marshal(m); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(t *testing.T, path ...string) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(path...)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name    string
		harm    func(t *testing.T, dir string)
		rebuilt string
	}{
		{"nothing", func(*testing.T, string) {}, ""},
		{"all is gone", func(t *testing.T, dir string) { remove(t, dir) }, ""},
		{"it is not known how far it is", func(t *testing.T, dir string) { remove(t, dir, "applied") }, ""},
		{"the records are gone", func(t *testing.T, dir string) { remove(t, dir, "records") },
			"it has 0 records, and had 60"},
		{"the log is gone", func(t *testing.T, dir string) { remove(t, dir, "records", "log.db") }, "file missing"},
		{"the records have no format", func(t *testing.T, dir string) { remove(t, dir, "records", "FORMAT") }, "unknown format"},
		{"the log is truncated", func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, "records", "log.db"), 70_000); err != nil {
				t.Fatal(err)
			}
		}, "log.db"},
		{"power was lost", func(t *testing.T, dir string) { set(t, dir, "clean", false); set(t, dir, "boot", "another") },
			"the machine has stopped"},
		{"the process was killed", func(t *testing.T, dir string) { set(t, dir, "clean", false) }, ""},
		{"it cannot be read what it is", func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, jetstream.ReplicaFile), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "unexpected end"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "replica")
			o := jetstream.Options{System: c.SystemURL()}
			if err := open(t, c.URL(), dir, o).Close(); err != nil {
				t.Fatal(err)
			}
			tt.harm(t, dir)
			j := open(t, c.URL(), dir, o)
			if got := fmt.Sprint(j.Rebuilt()); (tt.rebuilt == "") != (j.Rebuilt() == nil) || !strings.Contains(got, tt.rebuilt) {
				t.Errorf("made again because of %v, expected %q", got, tt.rebuilt)
			}
			checkSame(t, []*jetstream.Journal{other, j})
		})
	}
}

// TestOtherRecords: a replica whose records are intact, but not those of the stream, is detected at
// the first message that is based on the right ones, and restored when it is opened the next time.
// So a server may deliver other messages for a while, and no node stays behind forever.
func TestOtherRecords(t *testing.T) {
	t.Parallel()
	c := cluster(t, nil)
	dir := filepath.Join(t.TempDir(), "replica")
	o := jetstream.Options{System: c.SystemURL()}
	first := open(t, c.URL(), dir, o)
	journaltest.Append(t, first, "c", 0, "one")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	records := filepath.Join(dir, "records")
	if err := os.RemoveAll(records); err != nil {
		t.Fatal(err)
	}
	other, err := bolt.Open(records, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(other.Apply([]journal.Batch{{Conversation: "c", Events: [][]byte{[]byte("two")}}}),
		other.Close()); err != nil {
		t.Fatal(err)
	}
	wrong := open(t, c.URL(), dir, o)
	right := nodes(t, c, 1, 0)[0]
	journaltest.Append(t, right, "c", 1, "behind it")
	damage := (*journal.DamageError)(nil)
	for wrong.Ready() == nil {
		if _, err := journal.Append(t.Context(), wrong, journaltest.Batch("~", 9)); err == nil {
			t.Fatal("a batch after 9 is taken")
		}
	}
	if err := wrong.Ready(); !errors.As(err, &damage) || damage.Conversation != "c" {
		t.Fatalf("the node that has other records: %v", err)
	}
	wrong.Close()
	again := open(t, c.URL(), dir, o)
	if again.Rebuilt() == nil {
		t.Error("the replica was not made again")
	}
	checkSame(t, []*jetstream.Journal{again, right})
}

// TestDamagedRecord: a record that is not what was written is named by the call that meets it, and is whole when the replica is opened again.
func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	c := cluster(t, nil)
	dir := filepath.Join(t.TempDir(), "replica")
	o := jetstream.Options{System: c.SystemURL()}
	j := open(t, c.URL(), dir, o)
	secret := strings.Repeat("as written ", 3000) // on separate pages, which only a read of it reads
	journaltest.Append(t, j, "c", 0, secret, "b")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "records", "log.db")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(b), secret[:11000], strings.Repeat("not written", 1000),
		1)), 0o600); err != nil {
		t.Fatal(err)
	}
	j = open(t, c.URL(), dir, o)
	damage := (*journal.DamageError)(nil)
	if j.Rebuilt() == nil {
		if _, err := j.Read("c", 0, 10, 1<<20); !errors.As(err, &damage) {
			t.Fatalf("read: %v", err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		j = open(t, c.URL(), dir, o)
	}
	if j.Rebuilt() == nil {
		t.Error("the replica was not made again")
	}
	if r, err := j.Read("c", 0, 10, 1<<20); err != nil || len(r) != 2 || string(r[0].Data) != secret {
		t.Fatalf("read: %d records, %v", len(r), err)
	}
}

// TestOtherStream: a replica of another stream, or of this one when it had more, is refused and left as it is.
func TestOtherStream(t *testing.T) {
	t.Parallel()
	c := cluster(t, nil)
	dir := filepath.Join(t.TempDir(), "replica")
	o := jetstream.Options{System: c.SystemURL()}
	j := open(t, c.URL(), dir, o)
	fill(t, j)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	js := client(t, c)
	s, err := js.Stream(t.Context(), "parley")
	if err != nil {
		t.Fatal(err)
	}
	config := s.CachedInfo().Config
	if err := js.DeleteStream(t.Context(), "parley"); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), config); err != nil { // as after a loss of what was acknowledged
		t.Fatal(err)
	}
	if _, err := jetstream.Open(t.Context(), c.URL(), dir, &o); !errors.Is(err, jetstream.ErrOtherStream) ||
		!strings.Contains(err.Error(), "has lost what it had acknowledged") {
		t.Fatalf("open: %v", err)
	}
	if err := js.DeleteStream(t.Context(), "parley"); err != nil {
		t.Fatal(err)
	}
	if _, err := jetstream.Open(t.Context(), c.URL(), dir, &o); !errors.Is(err, jetstream.ErrOtherStream) {
		t.Fatalf("open: %v", err)
	}
	o.Name = "other"
	if _, err := jetstream.Open(t.Context(), c.URL(), dir, &o); !errors.Is(err, jetstream.ErrOtherStream) {
		t.Fatalf("open: %v", err)
	}
}

// TestReplicaDirectory: one replica is open in one process, and none is made beside other files.
func TestReplicaDirectory(t *testing.T) {
	t.Parallel()
	c := cluster(t, nil)
	o := jetstream.Options{System: c.SystemURL()}
	dir := filepath.Join(t.TempDir(), "replica")
	open(t, c.URL(), dir, o)
	if _, err := jetstream.Open(t.Context(), c.URL(), dir, &o); !errors.Is(err, journal.ErrInUse) {
		t.Errorf("open twice: %v", err)
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := jetstream.Open(t.Context(), c.URL(), dir, &o); err == nil ||
		!strings.Contains(err.Error(), "thesis.txt") {
		t.Errorf("open beside other files: %v", err)
	}
}
