package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/jetstream"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/internal/natscluster"
)

// TestNotDurable: a stream is refused if its servers may lose acknowledged messages, or do not
// report whether they do.
func TestNotDurable(t *testing.T) {
	t.Parallel()
	synced, unsynced := cluster(t, nil), cluster(t, &natscluster.Options{Unsynced: true})
	for name, tt := range map[string]struct {
		c    *natscluster.Cluster
		o    jetstream.Options
		says string // nothing: it is opened
	}{
		"synced, by the system account":     {synced, jetstream.Options{System: synced.SystemURL()}, ""},
		"synced, by the monitoring address": {synced, jetstream.Options{Monitors: synced.Monitors()}, ""},
		"synced, and nobody tells":          {synced, jetstream.Options{}, "does not tell whether it syncs always"},
		"synced, asked without rights": {synced, jetstream.Options{System: synced.URL()},
			"does not tell whether it syncs always"},
		"synced, and another is asked": {synced, jetstream.Options{Monitors: []string{"http://127.0.0.1:1"}},
			"does not tell whether it syncs always"},
		"unsynced, by the system account": {unsynced, jetstream.Options{System: unsynced.SystemURL()},
			"set jetstream { sync_interval: always }"},
		"unsynced, by the monitoring address": {unsynced, jetstream.Options{Monitors: unsynced.Monitors()},
			"set jetstream { sync_interval: always }"},
		"unsynced, and somebody vouches": {unsynced, jetstream.Options{Vouch: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := tryOpen(t, tt.c.URL(), filepath.Join(t.TempDir(), "replica"), tt.o)
			if err == nil {
				j.Close()
			}
			if (err == nil) != (tt.says == "") || err != nil && (!errors.Is(err, jetstream.ErrNotDurable) ||
				!strings.Contains(err.Error(), tt.says)) {
				t.Errorf("open: %v", err)
			}
		})
	}
}

// TestToldTooLate: a server that has not answered in time may still sync. One that reports that it
// does not is refused, although others have not answered.
func TestToldTooLate(t *testing.T) {
	t.Parallel()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	synced, unsynced := cluster(t, nil), cluster(t, &natscluster.Options{Unsynced: true})
	o := jetstream.Options{Monitors: append(unsynced.Monitors(), silent.URL)}
	if _, err := tryOpen(t, unsynced.URL(), filepath.Join(t.TempDir(), "replica"), o); !errors.Is(err,
		jetstream.ErrNotDurable) {
		t.Errorf("open: %v, expected %v", err, jetstream.ErrNotDurable)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // Open waits longer by itself
	defer cancel()
	o = jetstream.Options{Monitors: []string{silent.URL}}
	if _, err := jetstream.Open(ctx, synced.URL(), filepath.Join(t.TempDir(), "replica"), &o); !errors.Is(err,
		journal.ErrUnavailable) {
		t.Errorf("open: %v, expected %v", err, journal.ErrUnavailable)
	}
}

// TestStreamOfAnotherKind: a stream that could lose or change what it has is refused by the name of what is wrong, and so is one of another version.
func TestStreamOfAnotherKind(t *testing.T) {
	t.Parallel()
	c := cluster(t, nil)
	js := client(t, c)
	o := jetstream.Options{System: c.SystemURL()}
	if err := open(t, c.URL(), filepath.Join(t.TempDir(), "replica"), o).Close(); err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), "parley")
	if err != nil {
		t.Fatal(err)
	}
	good := s.CachedInfo().Config
	for what, change := range map[string]func(*natsjs.StreamConfig){
		"storage":          func(c *natsjs.StreamConfig) { c.Storage = natsjs.MemoryStorage },
		"max_age":          func(c *natsjs.StreamConfig) { c.MaxAge = 1e12 },
		"max_msgs":         func(c *natsjs.StreamConfig) { c.MaxMsgs = 10 },
		"retention":        func(c *natsjs.StreamConfig) { c.Retention = natsjs.WorkQueuePolicy },
		"discard":          func(c *natsjs.StreamConfig) { c.MaxBytes, c.Discard = 1<<20, natsjs.DiscardOld },
		"deny_delete":      func(c *natsjs.StreamConfig) { c.DenyDelete = false },
		"deny_purge":       func(c *natsjs.StreamConfig) { c.DenyPurge = false },
		"subjects":         func(c *natsjs.StreamConfig) { c.Subjects = []string{"parley.log", "more"} },
		"no_ack":           func(c *natsjs.StreamConfig) { c.NoAck = true },
		"persist_mode":     func(c *natsjs.StreamConfig) { c.PersistMode = natsjs.AsyncPersistMode },
		"parley.id":        func(c *natsjs.StreamConfig) { c.Metadata = map[string]string{"parley.format": "1"} },
		`parley.format ""`: func(c *natsjs.StreamConfig) { c.Metadata = nil },
		"this version reads 1": func(c *natsjs.StreamConfig) {
			c.Metadata = map[string]string{"parley.format": "2", "parley.id": "x"}
		},
		"replicas 1, expected 3": func(*natsjs.StreamConfig) {},
	} {
		t.Run(what, func(t *testing.T) {
			if err := js.DeleteStream(t.Context(), "parley"); err != nil {
				t.Fatal(err)
			}
			config := good
			change(&config)
			if _, err := js.CreateStream(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			o := o
			if strings.HasPrefix(what, "replicas") {
				o.Replicas = 3
			}
			_, err := jetstream.Open(t.Context(), c.URL(), filepath.Join(t.TempDir(), "replica"), &o)
			named := errors.Is(err, jetstream.ErrConfig) || errors.Is(err, journal.ErrFormat) ||
				errors.Is(err, jetstream.ErrNotDurable)
			if !named || !strings.Contains(err.Error(), what) {
				t.Errorf("open: %v", err)
			}
		})
	}
}

// TestForeignMessage: a message that no program of this version wrote ends the journal by name, on
// every node at the same position.
func TestForeignMessage(t *testing.T) {
	t.Parallel()
	newer := jetstream.Written("c", journal.Head{}, []byte("x"))
	jetstream.SetVersion(newer, 2)
	damaged := jetstream.Written("c", journal.Head{}, []byte("x"))
	damaged[len(damaged)-6] ^= 1
	stranger := jetstream.Written("c", journal.Head{Seq: 1, Hash: journal.Hash{1}}, []byte("x"))
	for name, tt := range map[string]struct {
		data   []byte
		damage bool
	}{"foreign": {[]byte("hello"), false}, "newer": {newer, false}, "empty": {nil, false}, "damaged": {damaged, true},
		"of other records": {stranger, true}} {
		t.Run(name, func(t *testing.T) {
			c := cluster(t, nil)
			js := nodes(t, c, 2, 0)
			journaltest.Append(t, js[0], "c", 0, "before")
			if _, err := client(t, c).Publish(t.Context(), "parley.log", tt.data); err != nil {
				t.Fatal(err)
			}
			check := func(err error) {
				t.Helper()
				damage := (*journal.DamageError)(nil)
				if errors.As(err, &damage) != tt.damage || errors.Is(err, journal.ErrFormat) == tt.damage {
					t.Errorf("error %v", err)
				}
			}
			for _, j := range js {
				for j.Ready() == nil {
					if _, err := journal.Append(t.Context(), j, journaltest.Batch("~", 9)); err == nil {
						t.Fatal("a batch after 9 is taken")
					}
				}
				check(j.Ready())
				_, err := journal.Append(t.Context(), j, journaltest.Batch("c", 1, "behind it"))
				check(err)
				if r, err := j.Read("c", 0, 10, 100); err != nil || len(r) != 1 {
					t.Errorf("what is before it: %v, %v", r, err)
				}
			}
			_, err := jetstream.Open(t.Context(), c.URL(), filepath.Join(t.TempDir(), "replica"),
				&jetstream.Options{System: c.SystemURL()})
			check(err)
		})
	}
}

// TestLargeBatch: batches larger than a message, among small ones.
func TestLargeBatch(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	c := cluster(t, &natscluster.Options{MaxPayload: 64 << 10})
	js := nodes(t, c, 2, 0)
	large := string(bytes.Repeat([]byte("large "), 16_000))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { appendAnyway(t, js[i%2], "c", large[i:]) })
		wg.Go(func() { appendAnyway(t, js[i%2], "d", string(rune('a'+i))) })
	}
	wg.Wait()
	checkSame(t, js)
	h, err := js[0].Head("c")
	if err != nil {
		t.Fatal(err)
	}
	journaltest.Append(t, js[0], "c", h.Seq, large+"0", large+"1", large+"2") // one batch
	checkSame(t, js)
	checkOnce(t, js[0], 11)
	fresh := nodes(t, c, 1, 0)[0]
	checkSame(t, []*jetstream.Journal{js[1], fresh})
}

// TestFullMessages: more small batches than a message carries are written in order.
func TestFullMessages(t *testing.T) {
	t.Parallel()
	c := cluster(t, &natscluster.Options{MaxPayload: 64 << 10})
	js := nodes(t, c, 2, 0)
	var answers []<-chan answer
	for i := range int64(400) {
		b := journaltest.Batch("c", i, strings.Repeat("x", 1000))
		b.Labels = []string{strings.Repeat("l", 200)}
		answers = append(answers, submit(js[0], b))
	}
	for i, a := range answers {
		if got := <-a; got.err != nil || got.head.Seq != int64(i+1) {
			t.Fatalf("batch %d: %+v", i, got)
		}
	}
	if n := js[0].Applied(); n < 6 {
		t.Errorf("400 KB are in %d messages of 64 KiB", n)
	}
	checkSame(t, js)
}

// TestBlobsOfOthers: what one node has put another gets, checked against its hash.
func TestBlobsOfOthers(t *testing.T) {
	t.Parallel()
	c := cluster(t, nil)
	js := nodes(t, c, 2, 0)
	data := bytes.Repeat([]byte("blob "), 200_000)
	h, err := js[0].PutBlob(data)
	if err != nil {
		t.Fatal(err)
	}
	get := func(j *jetstream.Journal) error {
		got, err := j.GetBlob(h)
		if err == nil && !bytes.Equal(got, data) {
			t.Error("other data")
		}
		return err
	}
	if err := get(js[1]); err != nil {
		t.Fatal(err)
	}
	s, err := client(t, c).Stream(t.Context(), "parley-blobs")
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(t.Context(), natsjs.WithSubjectFilter("parley.blob.>"))
	if err != nil {
		t.Fatal(err)
	}
	for subject := range info.State.Subjects {
		if strings.HasSuffix(subject, ".1") {
			if _, err := client(t, c).Publish(t.Context(), subject, []byte("other")); err != nil {
				t.Fatal(err)
			}
		}
	}
	damage := (*journal.DamageError)(nil)
	if err := get(js[1]); !errors.As(err, &damage) {
		t.Errorf("get of a damaged blob: %v", err)
	}
	if _, err := js[1].PutBlob(data); err != nil {
		t.Fatal(err)
	}
	if err := get(js[0]); err != nil {
		t.Errorf("get of a blob that was put again: %v", err)
	}
}

// TestPeers: bytes come to the other nodes, in order, and not back.
func TestPeers(t *testing.T) {
	t.Parallel()
	c := cluster(t, nil)
	js := nodes(t, c, 2, 0)
	got := make(chan string, 10)
	for _, j := range js {
		stop, err := j.Peers().Listen(func(b []byte) { got <- string(b) })
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
	}
	// The server knows of the subscription when it has answered something that was asked after it.
	journaltest.Append(t, js[1], "c", 0, "x")
	for _, s := range []string{"a", "b", "c"} {
		if err := js[0].Peers().Send([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"a", "b", "c"} {
		if s := <-got; s != want {
			t.Errorf("got %q, expected %q", s, want)
		}
	}
	if err := js[0].Peers().Send(make([]byte, js[0].Peers().MaxBytes())); err != nil {
		t.Error(err)
	}
	if s := <-got; len(s) != js[0].Peers().MaxBytes() {
		t.Errorf("%d bytes", len(s))
	}
}
