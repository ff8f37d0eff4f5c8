// Package journaltest tests the contract of package journal, and has helpers for tests.
//
// Run checks each guarantee of package journal. CheckInvariants checks a journal at the end of a
// test of another package.
package journaltest

import (
	"context"
	"fmt"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
)

// Factory makes journals of one kind for one test, and closes them when the test ends.
type Factory struct {
	// Open returns a new empty journal.
	Open func(t testing.TB) journal.Journal
	// Reopen closes a journal and opens it again.
	Reopen func(t testing.TB, j journal.Journal) journal.Journal
	// Crash returns the journal as it would be if the process died now. No batch may be under way.
	// It closes the old journal.
	Crash func(t testing.TB, j journal.Journal) journal.Journal
}

// Run checks the journals of newFactory, which it calls once for each subtest.
func Run(t *testing.T, newFactory func(t *testing.T) Factory) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, f Factory)
	}{
		{"Append", testAppend},
		{"Moved", testMoved},
		{"On", testOn},
		{"Final", testFinal},
		{"Invalid", testInvalid},
		{"Check", testCheck},
		{"Pipelined", testPipelined},
		{"PipelinedAfterRefusal", testPipelinedAfterRefusal},
		{"RaceForHead", testRaceForHead},
		{"ManyWriters", testManyWriters},
		{"Done", testDone},
		{"OwnWrites", testOwnWrites},
		{"Copies", testCopies},
		{"ReadPages", testReadPages},
		{"ScanPages", testScanPages},
		{"Watch", testWatch},
		{"OpenList", testOpenList},
		{"Labels", testLabels},
		{"Longest", testLongest},
		{"States", testStates},
		{"Blobs", testBlobs},
		{"Verify", testVerify},
		{"Reopen", testReopen},
		{"CloseCommits", testCloseCommits},
		{"Closed", testClosed},
		{"Model", testModel},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, newFactory(t)) })
	}
}

// CheckInvariants fails t unless the seqs and the chain of every conversation are valid, no record
// follows a final one, Head and Open match the records, and Verify counts the same.
func CheckInvariants(t testing.TB, j journal.Journal) {
	t.Helper()
	heads := make(map[string]journal.Head)
	var last journal.Position
	for {
		page, err := j.Scan(last, 500, 1<<20)
		if err != nil {
			t.Fatalf("invariants: scan after %d: %v", last, err)
		}
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			if r.Position != last+1 {
				t.Fatalf("invariants: position %d follows %d", r.Position, last)
			}
			last = r.Position
			if err := follow(heads, r); err != nil {
				t.Fatalf("invariants: %v", err)
			}
		}
	}
	if got := j.Last(); got != last {
		t.Fatalf("invariants: the last position is %d, log has %d", got, last)
	}
	open := 0
	for id, want := range heads {
		got, err := j.Head(id)
		if err != nil || got != want {
			t.Fatalf("invariants: head of %s is %+v, %v, log says %+v", id, got, err, want)
		}
		if !want.Final {
			open++
		}
	}
	checkOpen(t, j, heads, open)
	rep, err := j.Verify(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatalf("invariants: verify: %v", err)
	}
	if rep.Records != int64(last) || rep.Conversations != int64(len(heads)) {
		t.Fatalf("invariants: verify counts %+v, log has %d records of %d conversations", rep, last, len(heads))
	}
}

func checkOpen(t testing.TB, j journal.Journal, heads map[string]journal.Head, want int) {
	t.Helper()
	n, after := 0, ""
	for {
		ids, err := j.Open(after, 100)
		if err != nil {
			t.Fatalf("invariants: open after %q: %v", after, err)
		}
		if len(ids) == 0 {
			break
		}
		for _, id := range ids {
			if h, known := heads[id]; id <= after || !known || h.Final {
				t.Fatalf("invariants: %q is in the open list after %q, head %+v", id, after, h)
			}
			after = id
			n++
		}
	}
	if n != want {
		t.Fatalf("invariants: %d open conversations are listed, log has %d", n, want)
	}
}

// follow checks that r follows its conversation's head and makes it the head.
func follow(heads map[string]journal.Head, r journal.Record) error {
	h, known := heads[r.Conversation]
	if !known {
		h.Hash = journal.Genesis(r.Conversation)
	}
	switch {
	case h.Final:
		return fmt.Errorf("%s: seq %d after the final %d", r.Conversation, r.Seq, h.Seq)
	case r.Seq != h.Seq+1:
		return fmt.Errorf("%s: seq %d after %d", r.Conversation, r.Seq, h.Seq)
	case r.Hash != h.Hash.Next(r.Data):
		return fmt.Errorf("%s: chain broken at seq %d", r.Conversation, r.Seq)
	}
	heads[r.Conversation] = journal.Head{Seq: r.Seq, Hash: r.Hash, Final: r.Final}
	return nil
}

// Append appends events to a conversation and fails t if they are refused.
func Append(t testing.TB, j journal.Journal, conversation string, after int64, events ...string) journal.Head {
	t.Helper()
	h, err := journal.Append(t.Context(), j, Batch(conversation, after, events...))
	if err != nil {
		t.Fatalf("append to %s after %d: %v", conversation, after, err)
	}
	return h
}

// Batch returns a batch.
func Batch(conversation string, after int64, events ...string) journal.Batch {
	b := journal.Batch{Conversation: conversation, After: after}
	for _, e := range events {
		b.Events = append(b.Events, []byte(e))
	}
	return b
}
