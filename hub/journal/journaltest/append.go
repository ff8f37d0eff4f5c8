package journaltest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
)

func testAppend(t *testing.T, f Factory) {
	j := f.Open(t)
	if h, err := j.Head("c"); err != nil || h != (journal.Head{}) {
		t.Fatalf("head of nothing: %+v, %v", h, err)
	}
	hash := journal.Genesis("c")
	var seq int64
	for _, events := range [][]string{{"a"}, {"b", "c"}, {""}, {strings.Repeat("x", 100_000)}} {
		for _, e := range events {
			hash = hash.Next([]byte(e))
		}
		h := Append(t, j, "c", seq, events...)
		seq += int64(len(events))
		if want := (journal.Head{Seq: seq, Hash: hash}); h != want {
			t.Fatalf("head after %q: %+v, want %+v", events, h, want)
		}
	}
	CheckInvariants(t, j)
}

func testMoved(t *testing.T, f Factory) {
	j := f.Open(t)
	head := Append(t, j, "c", 0, "a", "b")
	for _, after := range []int64{0, 1, 3} {
		_, err := journal.Append(t.Context(), j, Batch("c", after, "x"))
		var moved *journal.MovedError
		if !errors.As(err, &moved) || moved.Head != head || moved.Expected != after || moved.Conversation != "c" {
			t.Fatalf("append after %d: %v", after, err)
		}
	}
	_, err := journal.Append(t.Context(), j, Batch("new", 1, "x"))
	var moved *journal.MovedError
	if !errors.As(err, &moved) || moved.Head != (journal.Head{}) {
		t.Fatalf("append to nothing after 1: %v", err)
	}
	if h, err := j.Head("c"); err != nil || h != head {
		t.Fatalf("head moved by refusals: %+v, %v", h, err)
	}
	CheckInvariants(t, j)
}

// testOn checks that a batch on events that differ from those of the log is refused, although the
// seqs match.
func testOn(t *testing.T, f Factory) {
	j := f.Open(t)
	head := Append(t, j, "c", 0, "a", "b")
	for _, on := range []journal.Hash{{}, journal.Genesis("c"),
		journal.Genesis("c").Next([]byte("a")).Next([]byte("other"))} {
		b := Batch("c", 2, "x")
		b.On = &on
		_, err := journal.Append(t.Context(), j, b)
		var moved *journal.MovedError
		if !errors.As(err, &moved) || moved.Head != head || moved.Expected != 2 {
			t.Fatalf("append on %x: %v", on, err)
		}
	}
	b := Batch("c", 2, "x")
	b.On = &head.Hash
	if _, err := journal.Append(t.Context(), j, b); err != nil {
		t.Fatalf("append on the head: %v", err)
	}
	first := Batch("new", 0, "x")
	first.On = &journal.Hash{}
	if _, err := journal.Append(t.Context(), j, first); err != nil {
		t.Fatalf("append on nothing: %v", err)
	}
	CheckInvariants(t, j)
}

func testFinal(t *testing.T, f Factory) {
	j := f.Open(t)
	Append(t, j, "c", 0, "a")
	b := Batch("c", 1, "b", "end")
	b.Final = true
	head, err := journal.Append(t.Context(), j, b)
	if err != nil || !head.Final || head.Seq != 3 {
		t.Fatalf("final append: %+v, %v", head, err)
	}
	for range 2 {
		for _, after := range []int64{0, 2, 3, 4} {
			if _, err := journal.Append(t.Context(), j, Batch("c", after, "x")); !errors.Is(err, journal.ErrFinal) {
				t.Fatalf("append after %d to a final conversation: %v", after, err)
			}
		}
		records, err := j.Read("c", 0, 10, 1<<20)
		if err != nil || len(records) != 3 || records[1].Final || !records[2].Final {
			t.Fatalf("records of a final conversation: %+v, %v", records, err)
		}
		CheckInvariants(t, j)
		j = f.Reopen(t, j)
	}
}

func testInvalid(t *testing.T, f Factory) {
	j := f.Open(t)
	long := strings.Repeat("n", journal.MaxNameBytes+1)
	labelled := func(labels ...string) journal.Batch {
		b := Batch("c", 0, "x")
		b.Labels = labels
		return b
	}
	for name, b := range map[string]journal.Batch{
		"no conversation": Batch("", 0, "x"), "long conversation": Batch(long, 0, "x"), "final check": {Conversation: "c",
			Final: true}, "check with a label": {Conversation: "c", Labels: []string{"l"}},
		"negative after": Batch("c", -1, "x"), "empty label": labelled("a", ""), "long label": labelled(long),
		"many labels": labelled(strings.Split(strings.Repeat("l", journal.MaxLabels+1), "")...),
		"large":       Batch("c", 0, strings.Repeat("x", journal.MaxBatchBytes+1)),
	} {
		if _, err := journal.Append(t.Context(), j, b); !errors.Is(err, journal.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	Append(t, j, long[1:], 0, "x")
	Append(t, j, "nul\x00\xff", 0, "x")
	CheckInvariants(t, j)
}

// testCheck checks that a batch without events reports whether its head is current, also behind
// other batches, and writes nothing.
func testCheck(t *testing.T, f Factory) {
	j := f.Open(t)
	if _, err := journal.Append(t.Context(), j, Batch("c", 0)); err != nil {
		t.Errorf("nothing is there, and is said to be: %v", err)
	}
	head := Append(t, j, "c", 0, "a", "b")
	other := journal.Genesis("d")
	for name, c := range map[string]struct {
		after int64
		on    *journal.Hash
		moved bool
	}{
		"the head":        {2, nil, false},
		"the head's hash": {2, &head.Hash, false},
		"another hash":    {2, &other, true},
		"a seq before":    {1, nil, true},
		"nothing":         {0, nil, true},
		"a seq beyond":    {3, nil, true},
	} {
		h, err := journal.Append(t.Context(), j, journal.Batch{Conversation: "c", After: c.after, On: c.on})
		var moved *journal.MovedError
		if errors.As(err, &moved) != c.moved || (err != nil) != c.moved || h != head {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
	}
	order := make(chan string, 3)
	for _, b := range []struct {
		name string
		journal.Batch
	}{{"before", Batch("c", 2)}, {"append", Batch("c", 2, "x")}, {"behind", Batch("c", 3)}} {
		b.Done = func(h journal.Head, err error) { order <- fmt.Sprint(b.name, " ", h.Seq, " ", err) }
		j.Submit(b.Batch)
	}
	for _, want := range []string{"before 2 <nil>", "append 3 <nil>", "behind 3 <nil>"} {
		if got := <-order; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	final := Batch("c", 3, "end")
	final.Final = true
	if _, err := journal.Append(t.Context(), j, final); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Append(t.Context(), j, Batch("c", 4)); !errors.Is(err, journal.ErrFinal) {
		t.Errorf("a check behind the end: %v", err)
	}
	CheckInvariants(t, j)
}

func testPipelined(t *testing.T, f Factory) {
	j := f.Open(t)
	const n = 500
	var wg sync.WaitGroup
	var done []int64 // appended to by Done only: the calls must not overlap
	for i := range int64(n) {
		b := Batch("c", i, fmt.Sprint("event ", i))
		wg.Add(1)
		b.Done = func(h journal.Head, err error) {
			defer wg.Done()
			if err != nil || h.Seq != i+1 {
				t.Errorf("batch after %d: %+v, %v", i, h, err)
			}
			done = append(done, i)
		}
		j.Submit(b)
	}
	wg.Wait()
	for i, d := range done {
		if int64(i) != d {
			t.Fatalf("Done %d was called as number %d", d, i)
		}
	}
	CheckInvariants(t, j)
}

func testPipelinedAfterRefusal(t *testing.T, f Factory) {
	j := f.Open(t)
	final := Batch("c", 2, "end")
	final.Final = true
	steps := []struct {
		batch journal.Batch
		want  string // of the error
		seq   int64
	}{
		{Batch("c", 0, "a"), "", 1},
		{Batch("c", 0, "lost race"), "journal: head of c is 1, expected 0", 1},
		{Batch("c", 1, "b"), "", 2},
		{Batch("", 0, "x"), "journal: invalid batch: conversation id of 0 bytes, expected 1 to 255", 0},
		{final, "", 3},
		{Batch("c", 3, "late"), journal.ErrFinal.Error(), 3},
	}
	var order []int
	var wg sync.WaitGroup
	for i, s := range steps {
		wg.Add(1)
		s.batch.Done = func(h journal.Head, err error) {
			defer wg.Done()
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != s.want || h.Seq != s.seq {
				t.Errorf("step %d: seq %d, error %q, want %d, %q", i, h.Seq, got, s.seq, s.want)
			}
			order = append(order, i)
		}
		j.Submit(s.batch)
	}
	wg.Wait()
	if fmt.Sprint(order) != "[0 1 2 3 4 5]" {
		t.Errorf("Done in order %v", order)
	}
	CheckInvariants(t, j)
}

func testRaceForHead(t *testing.T, f Factory) {
	j := f.Open(t)
	const writers, rounds = 16, 20
	for round := range int64(rounds) {
		var won atomic.Int64
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				_, err := journal.Append(t.Context(), j, Batch("c", round, fmt.Sprintf("round %d writer %d", round, w)))
				var moved *journal.MovedError
				switch {
				case err == nil:
					won.Add(1)
				case !errors.As(err, &moved) || moved.Head.Seq != round+1:
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("round %d: %d writers followed the same seq", round, won.Load())
		}
	}
	CheckInvariants(t, j)
}

func testManyWriters(t *testing.T, f Factory) {
	j := f.Open(t)
	const writers, conversations, each = 12, 5, 25
	var acked atomic.Int64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprint("c", (w+i)%conversations)
				appendAnyway(t, j, id, fmt.Sprintf("w%d i%d", w, i))
				acked.Add(1)
			}
		})
	}
	wg.Wait()
	CheckInvariants(t, j)
	j = f.Reopen(t, j)
	CheckInvariants(t, j)
	seen := make(map[string]bool)
	page, err := j.Scan(0, 1000, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range page {
		if seen[string(r.Data)] {
			t.Errorf("%q is in the log twice", r.Data)
		}
		seen[string(r.Data)] = true
	}
	if int64(len(seen)) != acked.Load() {
		t.Errorf("%d events in the log, %d acked", len(seen), acked.Load())
	}
}

// appendAnyway appends on the current head.
func appendAnyway(t *testing.T, j journal.Journal, id, event string) {
	var after int64
	for {
		_, err := journal.Append(t.Context(), j, Batch(id, after, event))
		if err == nil {
			return
		}
		var moved *journal.MovedError
		if !errors.As(err, &moved) {
			t.Errorf("append to %s: %v", id, err)
			return
		}
		after = moved.Head.Seq
	}
}

func testDone(t *testing.T, f Factory) {
	j := f.Open(t)
	var mu sync.Mutex
	calls := 0
	last := make(chan struct{})
	first := Batch("c", 0, "a")
	first.Done = func(h journal.Head, err error) {
		mu.Lock() // held during Submit: Done must not be called inside
		calls++
		mu.Unlock()
		if got, e := j.Head("c"); e != nil || got != h {
			t.Errorf("head in Done: %+v, %v, want %+v", got, e, h)
		}
		second := Batch("c", h.Seq, "b")
		second.Done = func(journal.Head, error) { close(last) }
		j.Submit(second)
	}
	refused := Batch("", 0, "x")
	refused.Done = func(_ journal.Head, err error) {
		mu.Lock()
		calls++
		mu.Unlock()
		if !errors.Is(err, journal.ErrInvalid) {
			t.Errorf("refused batch: %v", err)
		}
	}
	mu.Lock()
	j.Submit(first)
	j.Submit(refused)
	mu.Unlock()
	<-last
	j.Submit(Batch("c", 2, "nobody asks"))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if calls != 2 {
		t.Errorf("Done was called %d times for 2 batches", calls)
	}
}
