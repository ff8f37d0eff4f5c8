package journaltest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
)

func testReopen(t *testing.T, f Factory) {
	j := f.Open(t)
	heads := make(map[string]journal.Head)
	for round := range 6 {
		for i := range 10 {
			id := fmt.Sprint("c", i)
			heads[id] = Append(t, j, id, heads[id].Seq, numbered(heads[id].Seq, i%3+1)...)
		}
		if round%2 == 0 {
			j = f.Reopen(t, j)
		} else {
			j = f.Crash(t, j)
		}
		for id, want := range heads {
			if h, err := j.Head(id); err != nil || h != want {
				t.Fatalf("round %d: head of %s is %+v, %v, want %+v", round, id, h, err, want)
			}
		}
		CheckInvariants(t, j)
	}
}

func testCloseCommits(t *testing.T, f Factory) {
	j := f.Open(t)
	const n = 300
	var acked atomic.Int64
	for i := range int64(n) {
		b := Batch("c", i, "x")
		b.Done = func(_ journal.Head, err error) {
			if err == nil {
				acked.Add(1)
			}
		}
		j.Submit(b)
	}
	j = f.Reopen(t, j)
	if acked.Load() != n {
		t.Errorf("Close acked %d of %d batches that were submitted before", acked.Load(), n)
	}
	if h, err := j.Head("c"); err != nil || h.Seq != n {
		t.Errorf("head after Close: %+v, %v", h, err)
	}
}

func testClosed(t *testing.T, f Factory) {
	j := f.Open(t)
	Append(t, j, "c", 0, "x")
	for range 2 {
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, call := range map[string]func() error{
		"Submit": func() error {
			_, err := journal.Append(context.Background(), j, Batch("c", 1, "x"))
			return err
		},
		"invalid Submit": func() error {
			_, err := journal.Append(context.Background(), j, Batch("", 1))
			return err
		},
		"Head":          func() error { _, err := j.Head("c"); return err },
		"Read":          func() error { _, err := j.Read("c", 0, 1, 1); return err },
		"Scan":          func() error { _, err := j.Scan(0, 1, 1); return err },
		"Open":          func() error { _, err := j.Open("", 1); return err },
		"Labeled":       func() error { _, err := j.Labeled("", 0, 1); return err },
		"LabeledBefore": func() error { _, err := j.LabeledBefore("", 0, 1); return err },
		"SaveState":     func() error { return j.SaveState("c", 1, nil) },
		"LoadState":     func() error { _, _, err := j.LoadState("c"); return err },
		"PutBlob":       func() error { _, err := j.PutBlob(nil); return err },
		"GetBlob":       func() error { _, err := j.GetBlob(journal.Hash{}); return err },
		"Verify":        func() error { _, err := j.Verify(context.Background()); return err },
	} {
		if err := call(); !errors.Is(err, journal.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}
