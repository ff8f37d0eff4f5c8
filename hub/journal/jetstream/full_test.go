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

// resize gives the log's stream a bound of bytes; -1 is none.
func resize(t testing.TB, js natsjs.JetStream, bytes int64) {
	t.Helper()
	s, err := js.Stream(t.Context(), "parley")
	if err != nil {
		t.Fatal(err)
	}
	config := s.CachedInfo().Config
	config.MaxBytes = bytes
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}

// TestFullStream: what has no room in the stream is refused by name, at every node; reads and checks go on; and so do writes when there is room again.
func TestFullStream(t *testing.T) {
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
				if _, err := journal.Append(ctx, js[i%2], journaltest.Batch("c", 1, text)); !errors.Is(err, journal.ErrStorageFull) {
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
