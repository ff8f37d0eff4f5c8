package journaltest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
)

func testOwnWrites(t *testing.T, f Factory) {
	j := f.Open(t)
	for i := range 20 {
		id := fmt.Sprint("c", i)
		b := Batch(id, 0, "first", "second")
		b.Labels = []string{"l"}
		if _, err := journal.Append(t.Context(), j, b); err != nil {
			t.Fatal(err)
		}
		if r, err := j.Read(id, 1, 10, 100); err != nil || len(r) != 1 || string(r[0].Data) != "second" {
			t.Fatalf("read: %+v, %v", r, err)
		}
		if r, err := j.Scan(journal.Position(2*i+1), 10, 100); err != nil || len(r) != 1 || r[0].Conversation != id {
			t.Fatalf("scan: %+v, %v", r, err)
		}
		if l, err := j.Labeled("l", journal.Position(2*i), 10); err != nil || len(l) != 1 || l[0].Conversation != id {
			t.Fatalf("labeled: %+v, %v", l, err)
		}
		if o, err := j.Open("", 100); err != nil || len(o) != i+1 {
			t.Fatalf("open: %v, %v", o, err)
		}
	}
}

func testCopies(t *testing.T, f Factory) {
	j := f.Open(t)
	data := []byte("as submitted")
	if _, err := journal.Append(t.Context(), j, journal.Batch{Conversation: "c", Events: [][]byte{data}}); err != nil {
		t.Fatal(err)
	}
	copy(data, "reused by the caller") // allowed after Done
	for range 2 {
		r, err := j.Read("c", 0, 1, 100)
		if err != nil || len(r) != 1 || string(r[0].Data) != "as submitted" {
			t.Fatalf("read: %+v, %v", r, err)
		}
		copy(r[0].Data, "changed by the reader")
		s, err := j.Scan(0, 1, 100)
		if err != nil || len(s) != 1 || string(s[0].Data) != "as submitted" {
			t.Fatalf("scan: %+v, %v", s, err)
		}
		copy(s[0].Data, "changed by the reader")
	}
	CheckInvariants(t, j)
}

func testReadPages(t *testing.T, f Factory) {
	j := f.Open(t)
	const n = 700
	var seq int64
	for seq < n {
		h := Append(t, j, "c", seq, numbered(seq, 50)...)
		Append(t, j, fmt.Sprint("other", seq), 0, "x")
		if seq = h.Seq; seq == 350 {
			j = f.Reopen(t, j)
		}
	}
	for _, c := range []struct {
		after           int64
		limit, maxBytes int
		want            int
	}{
		{0, 10, 1 << 20, 10}, {0, n + 1, 1 << 20, n}, {-5, 3, 1 << 20, 3}, {n - 1, 10, 1 << 20, 1}, {n, 10, 1 << 20,
			0}, {n + 7, 10, 1 << 20, 0},
		{100, 0, 1 << 20, 1}, {100, 10, 0, 1}, {100, 10, 19, 1}, {100, 10, 20, 2}, {345, 10, 1 << 20, 10}, {127, 2, 1 << 20, 2},
	} {
		r, err := j.Read("c", c.after, c.limit, c.maxBytes)
		if err != nil || len(r) != c.want {
			t.Fatalf("read after %d, limit %d, bytes %d: %d records, %v, want %d", c.after, c.limit, c.maxBytes, len(r), err, c.want)
		}
		for i := range r {
			seq := max(c.after, 0) + int64(i) + 1
			if r[i].Seq != seq || string(r[i].Data) != numbered(seq-1, 1)[0] || r[i].Conversation != "c" {
				t.Fatalf("read after %d: record %d is %+v", c.after, i, r[i])
			}
		}
	}
	if r, err := j.Read("none", 0, 10, 100); err != nil || len(r) != 0 {
		t.Fatalf("read of nothing: %v, %v", r, err)
	}
}

// numbered returns n events of ten bytes after a seq.
func numbered(after int64, n int) []string {
	events := make([]string, n)
	for i := range events {
		events[i] = fmt.Sprintf("event %4d", after+int64(i)+1)
	}
	return events
}

func testScanPages(t *testing.T, f Factory) {
	j := f.Open(t)
	heads := map[string]int64{}
	for i := range int64(120) {
		id := fmt.Sprint("c", i%7)
		heads[id] = Append(t, j, id, heads[id], numbered(i, 2)...).Seq
	}
	for range 2 {
		for _, limit := range []int{1, 7, 239, 240, 1000} {
			var after journal.Position
			for {
				page, err := j.Scan(after, limit, 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) == 0 {
					break
				}
				for _, r := range page {
					if r.Position != after+1 {
						t.Fatalf("limit %d: position %d after %d", limit, r.Position, after)
					}
					after = r.Position
				}
			}
			if after != 240 {
				t.Fatalf("limit %d: the scan ended at %d", limit, after)
			}
		}
		if page, err := j.Scan(3, 10, 25); err != nil || len(page) != 2 {
			t.Fatalf("scan of 25 bytes: %d records, %v", len(page), err)
		}
		j = f.Reopen(t, j)
	}
}

func testWatch(t *testing.T, f Factory) {
	j := f.Open(t)
	w := j.Watch()
	select {
	case <-w:
		t.Fatal("watch is closed before any commit")
	default:
	}
	Append(t, j, "c", 0, "a")
	<-w
	w = j.Watch()
	if _, err := journal.Append(t.Context(), j, Batch("c", 0, "x")); err == nil {
		t.Fatal("append after 0 twice")
	}
	select {
	case <-w:
		t.Fatal("watch is closed by a refused batch")
	default:
	}
	Append(t, j, "c", 1, "b")
	<-w
	w = j.Watch()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	<-w
	<-j.Watch()
}

func testOpenList(t *testing.T, f Factory) {
	j := f.Open(t)
	id := func(i int) string { return fmt.Sprintf("c%03d", i) }
	for i := range 100 {
		Append(t, j, id(99-i), 0, "a")
	}
	end := func(i int) {
		b := Batch(id(i), 1, "end")
		b.Final = true
		if _, err := journal.Append(t.Context(), j, b); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want ...int) {
		t.Helper()
		var got []string
		for after := ""; ; {
			ids, err := j.Open(after, 7)
			if err != nil {
				t.Fatal(err)
			}
			if len(ids) == 0 {
				break
			}
			got = append(got, ids...)
			after = ids[len(ids)-1]
		}
		var ids []string
		for _, i := range want {
			ids = append(ids, id(i))
		}
		if fmt.Sprint(got) != fmt.Sprint(ids) {
			t.Fatalf("open list %v, want %v", got, ids)
		}
	}
	var left []int
	for i := range 100 {
		if i%3 == 0 {
			left = append(left, i)
		} else {
			end(i)
		}
	}
	check(left...)
	j = f.Reopen(t, j)
	check(left...)
	end(left[0]) // it was listed on disk before
	check(left[1:]...)
	j = f.Crash(t, j)
	check(left[1:]...)
	CheckInvariants(t, j)
}

func testLabels(t *testing.T, f Factory) {
	j := f.Open(t)
	add := func(id string, after int64, labels ...string) {
		t.Helper()
		b := Batch(id, after, "x", "y")
		b.Labels = labels
		if _, err := journal.Append(t.Context(), j, b); err != nil {
			t.Fatal(err)
		}
	}
	check := func(label, want string) {
		t.Helper()
		for _, limit := range []int{1, 2, 100} {
			var got string
			var after journal.Position
			for {
				rows, err := j.Labeled(label, after, limit)
				if err != nil || len(rows) > limit {
					t.Fatalf("labeled %q: %d rows, %v", label, len(rows), err)
				}
				if len(rows) == 0 {
					break
				}
				for _, r := range rows {
					got += fmt.Sprintf("%s@%d ", r.Conversation, r.Position)
					after = r.Position
				}
			}
			if got != want {
				t.Fatalf("label %q, limit %d: %q, want %q", label, limit, got, want)
			}
			if got := backwards(t, j, label, limit); got != want {
				t.Fatalf("label %q, limit %d, read backwards: %q, want %q", label, limit, got, want)
			}
		}
	}
	add("a", 0, "l1", "l2")
	add("b", 0)
	add("c", 0, "l2", "l2")
	j = f.Reopen(t, j)
	add("b", 2, "l1", "l2")
	add("a", 2, "l1", "l3")
	add("b", 4, "l1")
	for range 3 {
		check("l1", "a@1 b@7 ")
		check("l2", "a@1 c@5 b@7 ")
		check("l3", "a@9 ")
		check("none", "")
		check("l", "")
		check("", "a@1 b@3 c@5 ")
		r, err := j.Read("b", 2, 2, 100)
		if err != nil || len(r) != 2 || fmt.Sprint(r[0].Labels, r[1].Labels) != "[l1 l2] []" {
			t.Fatalf("labels of records: %+v, %v", r, err)
		}
		j = f.Crash(t, j)
	}
	CheckInvariants(t, j)
}

// backwards returns the rows of a label as testLabels writes them, read from the last to the first.
func backwards(t *testing.T, j journal.Journal, label string, limit int) (all string) {
	t.Helper()
	var before journal.Position
	for {
		rows, err := j.LabeledBefore(label, before, limit)
		if err != nil || len(rows) > limit {
			t.Fatalf("labeled %q before %d: %d rows, %v", label, before, len(rows), err)
		}
		if len(rows) == 0 {
			return all
		}
		for _, r := range rows {
			all = fmt.Sprintf("%s@%d ", r.Conversation, r.Position) + all
			before = r.Position
		}
	}
}

func testStates(t *testing.T, f Factory) {
	j := f.Open(t)
	Append(t, j, "c", 0, "a", "b", "c")
	if seq, state, err := j.LoadState("c"); err != nil || state != nil || seq != 0 {
		t.Fatalf("no state: %d, %q, %v", seq, state, err)
	}
	for seq := range int64(3) {
		data := fmt.Appendf(nil, "state %d", seq)
		if err := j.SaveState("c", seq, data); err != nil {
			t.Fatal(err)
		}
		clear(data) // the caller may reuse it
		got, state, err := j.LoadState("c")
		if err != nil || got != seq || string(state) != fmt.Sprint("state ", seq) {
			t.Fatalf("state: %d, %q, %v", got, state, err)
		}
		clear(state)
	}
	// Reopen may lose it, but must not change it.
	j = f.Reopen(t, j)
	if seq, state, err := j.LoadState("c"); err != nil || state != nil && (seq != 2 || string(state) != "state 2") {
		t.Fatalf("state after reopen: %d, %q, %v", seq, state, err)
	}
}

func testBlobs(t *testing.T, f Factory) {
	j := f.Open(t)
	blobs := [][]byte{nil, []byte("small"), bytes.Repeat([]byte("large "), 100_000)}
	var hashes []journal.Hash
	for range 2 {
		hashes = nil
		for _, b := range blobs {
			h, err := j.PutBlob(b)
			if err != nil {
				t.Fatal(err)
			}
			hashes = append(hashes, h)
		}
	}
	check := func() {
		t.Helper()
		for i, h := range hashes {
			b, err := j.GetBlob(h)
			if err != nil || !bytes.Equal(b, blobs[i]) {
				t.Fatalf("blob %d: %d bytes, %v", i, len(b), err)
			}
		}
		if _, err := j.GetBlob(journal.Genesis("none")); err != journal.ErrNoBlob {
			t.Fatalf("no blob: %v", err)
		}
	}
	check()
	j = f.Crash(t, j)
	check()
	if j.Size() < 600_000 {
		t.Errorf("size is %d", j.Size())
	}
}

func testVerify(t *testing.T, f Factory) {
	j := f.Open(t)
	var want journal.Report
	for i := range 40 {
		Append(t, j, fmt.Sprint("c", i), 0, "ab", "cde")
		want.Records += 2
		want.Conversations++
		want.Bytes += 5
	}
	for range 2 {
		if rep, err := j.Verify(t.Context()); err != nil || rep != want {
			t.Fatalf("verify: %+v, %v, want %+v", rep, err, want)
		}
		j = f.Crash(t, j)
	}
}
