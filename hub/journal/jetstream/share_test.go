package jetstream_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/jetstream"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/internal/natscluster"
)

// calm is the patience of tests in which the servers answer, however slow the machine is.
const calm = 5 * time.Minute

// nodes opens some journals on one stream.
func nodes(t testing.TB, c *natscluster.Cluster, n, replicas int) []*jetstream.Journal {
	t.Helper()
	js := make([]*jetstream.Journal, n)
	for i := range js {
		js[i] = open(t, c.URL(), filepath.Join(t.TempDir(), "replica"),
			jetstream.Options{Replicas: replicas, System: c.SystemURL(), Patience: calm})
	}
	return js
}

// reach waits until a node has what another has.
func reach(t testing.TB, j *jetstream.Journal, want journal.Position) {
	t.Helper()
	for {
		moved := j.Moved()
		if j.Last() >= want {
			return
		}
		select {
		case <-moved:
		case <-t.Context().Done():
			t.Fatalf("the replica has %d records, expected %d", j.Last(), want)
		}
	}
}

// checkSame fails t unless the nodes have the same records at the same positions.
func checkSame(t testing.TB, js []*jetstream.Journal) {
	t.Helper()
	var last journal.Position
	for _, j := range js {
		last = max(last, j.Last())
	}
	var first []journal.Record
	for i, j := range js {
		reach(t, j, last)
		journaltest.CheckInvariants(t, j)
		records, err := j.Scan(0, int(last)+1, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = records
		}
		for k := range first {
			if k >= len(records) || !reflect.DeepEqual(records[k], first[k]) {
				t.Fatalf("node %d has %d records, node 0 has %d, and number %d is another one", i, len(records), len(first), k)
			}
		}
	}
}

// TestOneWins: of batches that follow one head, submitted at three nodes at once, one is written,
// and the others are refused.
func TestOneWins(t *testing.T) {
	t.Parallel()
	c := cluster(t, nil)
	js := nodes(t, c, 3, 0)
	const rounds, each = 40, 4
	var head int64
	for round := range rounds {
		var won atomic.Int64
		var wg sync.WaitGroup
		for n, j := range js {
			for w := range each {
				wg.Go(func() {
					h, err := journal.Append(t.Context(), j, journaltest.Batch("c", head, fmt.Sprintf("round %d node %d writer %d", round, n, w)))
					var moved *journal.MovedError
					switch {
					case err == nil:
						won.Add(1)
						if h.Seq != head+1 {
							t.Errorf("head %+v", h)
						}
					case !errors.As(err, &moved) || moved.Head.Seq != head+1:
						t.Errorf("round %d: %v", round, err)
					}
				})
			}
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("round %d: %d batches followed the same seq", round, won.Load())
		}
		head++
	}
	checkSame(t, js)
}

// TestManyWriters: writers at three nodes append to the same conversations on whatever head there is; nothing is lost and nothing is there twice.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	c := cluster(t, &natscluster.Options{Servers: 3})
	js := nodes(t, c, 3, 3)
	const writers, each, conversations = 12, 20, 5
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				appendAnyway(t, js[w%len(js)], fmt.Sprint("c", (w+i)%conversations), fmt.Sprintf("w%d i%d", w, i))
			}
		})
	}
	wg.Wait()
	checkSame(t, js)
	checkOnce(t, js[0], writers*each)
}

// appendAnyway appends on whatever head there is.
func appendAnyway(t testing.TB, j journal.Journal, id, event string) {
	t.Helper()
	var after int64
	for {
		_, err := journal.Append(t.Context(), j, journaltest.Batch(id, after, event))
		var moved *journal.MovedError
		switch {
		case err == nil:
			return
		case errors.Is(err, journal.ErrUnavailable): // nothing was written
		case errors.As(err, &moved):
			after = moved.Head.Seq
		default:
			t.Errorf("append to %s: %v", id, err)
			return
		}
	}
}

// checkOnce fails t unless the log has so many events, all different.
func checkOnce(t testing.TB, j journal.Journal, want int) {
	t.Helper()
	records, err := j.Scan(0, want+1000, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, r := range records {
		if seen[string(r.Data)] {
			t.Errorf("%.40q is in the log twice", r.Data)
		}
		seen[string(r.Data)] = true
	}
	if len(seen) != want {
		t.Errorf("%d events in the log, expected %d", len(seen), want)
	}
}

// TestLaggingNode: a node that is behind refuses batches on a head that moved, with the current
// head. Batches on other heads are accepted. A check detects that the head of the node is old.
func TestLaggingNode(t *testing.T) {
	t.Parallel()
	c := cluster(t, nil)
	js := nodes(t, c, 2, 0)
	ahead, behind := js[0], js[1]
	old := journaltest.Append(t, ahead, "moves", 0, "a")
	still := journaltest.Append(t, ahead, "stays", 0, "a")
	reach(t, behind, ahead.Last())

	behind.Pause()
	now := journaltest.Append(t, ahead, "moves", 1, "b")
	type answer struct {
		head journal.Head
		err  error
	}
	submit := func(b journal.Batch) <-chan answer {
		answers := make(chan answer, 1)
		b.Done = func(h journal.Head, err error) { answers <- answer{h, err} }
		behind.Submit(b)
		return answers
	}
	if h, err := behind.Head("moves"); err != nil || h != old {
		t.Fatalf("the node is not behind: %+v, %v", h, err)
	}
	inStream := ahead.Moved()
	stale := submit(journal.Batch{Conversation: "moves", After: 1, On: &old.Hash})
	good := submit(journal.Batch{Conversation: "stays", After: 1, On: &still.Hash})
	select {
	case a := <-stale:
		t.Fatalf("answered while the node did not know: %+v", a)
	case a := <-good:
		t.Fatalf("answered while the node did not know: %+v", a)
	case <-inStream: // what the node behind has published
	}
	race := submit(journaltest.Batch("moves", 1, "too late"))
	silent := submit(journaltest.Batch("stays", 1, "goes on"))
	ahead2 := submit(journaltest.Batch("moves", 2, "c")) // it knows more than its node
	behind.Resume()
	moved := (*journal.MovedError)(nil)
	if a := <-stale; !errors.As(a.err, &moved) || moved.Head != now {
		t.Errorf("a check of an old head: %+v", a)
	}
	if a := <-good; a.err != nil || a.head != still {
		t.Errorf("a check of the head: %+v", a)
	}
	if a := <-race; !errors.As(a.err, &moved) || moved.Head != now {
		t.Errorf("a batch on an old head: %+v", a)
	}
	if a := <-silent; a.err != nil || a.head.Seq != 2 {
		t.Errorf("a batch whose conversation has not moved: %+v", a)
	}
	if a := <-ahead2; a.err != nil || a.head.Seq != 3 {
		t.Errorf("a batch on a head that the node did not know: %+v", a)
	}
	checkSame(t, js)
}

// TestRefusedHeadIsTrue: a batch on a seq beyond the head is refused, and stays so: it is not written later, when the conversation is there.
func TestRefusedHeadIsTrue(t *testing.T) {
	t.Parallel()
	c := cluster(t, nil)
	js := nodes(t, c, 2, 0)
	for i := range int64(20) {
		moved := (*journal.MovedError)(nil)
		if _, err := journal.Append(t.Context(), js[1], journaltest.Batch("c", i+1, "early")); !errors.As(err, &moved) || moved.Head.Seq != i {
			t.Fatalf("append after %d: %v", i+1, err)
		}
		journaltest.Append(t, js[0], "c", i, "x")
		reach(t, js[1], js[0].Last())
	}
	checkSame(t, js)
	if h, _ := js[0].Head("c"); h.Seq != 20 {
		t.Errorf("head %+v", h)
	}
}
