package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	natsjs "github.com/nats-io/nats.go/jetstream"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/internal/natscluster"
)

// resize sets the bound of the log's stream in bytes; -1 means none.
func resize(t testing.TB, js natsjs.JetStream, bytes int64) {
	t.Helper()
	s, err := js.Stream(t.Context(), "parley")
	if err != nil {
		t.Fatal(err)
	}
	config := s.CachedInfo().Config
	config.MaxBytes = bytes
	ctx, cancel := context.WithTimeout(t.Context(), calm) // without a deadline the client fails after 5 s
	defer cancel()
	if _, err := js.UpdateStream(ctx, config); err != nil {
		t.Fatal(err)
	}
}

// TestFullStream: batches that exceed the bound of the stream are refused by name, at every node.
// Reads and checks work, and writes work again when there is room.
func TestFullStream(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d servers", servers), func(t *testing.T) {
			c := cluster(t, &natscluster.Options{Servers: servers})
			js, operator := nodes(t, c, 2, servers), client(t, c)
			text := strings.Repeat("x", 10_000)
			head := journaltest.Append(t, js[0], "c", 0, text)
			resize(t, operator, 15_000)
			ctx, cancel := context.WithTimeout(t.Context(), calm)
			defer cancel()
			for i := range 4 {
				reach(t, js[i%2], 1)
				if _, err := journal.Append(ctx, js[i%2], journaltest.Batch("c", 1, text)); !errors.Is(err,
					journal.ErrStorageFull) {
					t.Fatalf("append without room: %v", err)
				}
			}
			if r, err := js[1].Read("c", 0, 10, 1); err != nil || len(r) != 1 {
				t.Errorf("read: %v, %v", r, err)
			}
			if h, err := journal.Append(t.Context(), js[0], journal.Batch{Conversation: "c", After: 1}); err != nil || h != head {
				t.Errorf("a check, for which there is room: %+v, %v", h, err)
			}
			resize(t, operator, -1)
			for i := range int64(4) {
				reach(t, js[i%2], journal.Position(1+i))
				journaltest.Append(t, js[i%2], "c", 1+i, fmt.Sprint(text, i))
			}
			checkSame(t, js)
			checkOnce(t, js[0], 5)
		})
	}
}

// TestNothingIsLostWhileFull: of more small batches than a message carries, taken at once, each is answered, in order, also when the stream has no room for the first
// message: the rest waits then for the next, while others are in the queue already.
func TestNothingIsLostWhileFull(t *testing.T) {
	t.Parallel()
	c := cluster(t, &natscluster.Options{MaxPayload: 64 << 10})
	js := nodes(t, c, 2, 0)
	j, other := js[0], js[1]
	journaltest.Append(t, j, "c", 0, strings.Repeat("x", 10_000))
	reach(t, other, 1)
	resize(t, client(t, c), 11_000) // room for checks

	// batches; of these and the large one, the small ones are taken at once, and some 800 of them fit into a message
	const small = 2000
	var answered [small]error
	missing := errors.New("not answered")
	for i := range answered {
		answered[i] = missing
	}
	j.Pause() // a check is on its way until Resume, and the others gather behind it
	inStream := other.Moved()
	check := submit(j, journal.Batch{Conversation: "c", After: 1})
	<-inStream
	for i := range answered {
		b := journaltest.Batch(fmt.Sprint("c", i), 0, "x")
		b.Done = func(_ journal.Head, err error) { answered[i] = err }
		j.Submit(b)
	}
	last := submit(j, journaltest.Batch("large", 0, strings.Repeat("x", j.MaxParts()-small/2)))
	j.Resume()
	if a := <-check; a.err != nil {
		t.Errorf("the check: %v", a.err)
	}
	if a := <-last; !errors.Is(a.err, journal.ErrStorageFull) { // all calls are made by one goroutine, in order
		t.Errorf("the last: %+v", a)
	}
	for i, err := range answered {
		if !errors.Is(err, journal.ErrStorageFull) {
			t.Fatalf("batch %d of %d, all before the last: %v", i, small, err)
		}
	}
}
