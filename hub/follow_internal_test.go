package hub

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// lateJournal delays the outcome of a commit.
type lateJournal struct {
	*memory.Journal
}

const outcomeLate = 100 * time.Millisecond

func (j lateJournal) Submit(b journal.Batch) {
	b = b.Sealed()
	done := b.Done
	b.Done = func(h journal.Head, err error) { time.AfterFunc(outcomeLate, func() { done(h, err) }) }
	j.Journal.Submit(b)
}

// TestRefusalBehindOwnAppend: a hub that does not know yet that its append is committed decides on
// that append. Events of another hub behind it count too: the holder of the other hub's claim is
// not refused with claim_lost.
func TestRefusalBehindOwnAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := memory.New()
		t.Cleanup(func() { _ = j.Close() })
		late, other := openShared(t, lateJournal{j}), openShared(t, j)
		id := begin(t, other, parley.Limits{}, parley.Participant{ID: "a", Kind: parley.KindAgent})
		synctest.Wait()

		noted, renewed := make(chan error, 1), make(chan error, 1)
		late.SendNote(late.LocalPrincipal("a"), &parley.SendNoteParams{ConversationID: id, Payload: parley.Note{Schema: "s", Data: []byte(`1`)}},
			func(_ parley.SeqResult, err error) { noted <- err })
		synctest.Wait()
		c, err := other.Client(other.LocalPrincipal("a")).ClaimTurn(t.Context(),
			&parley.ClaimTurnParams{ConversationID: id, Turn: 1})
		if err != nil {
			t.Fatal(err)
		}
		go late.RenewClaim(late.LocalPrincipal("a"), &parley.RenewClaimParams{ConversationID: id, ClaimID: c.ClaimID}, // it waits until it knows of the claim
			func(_ parley.RenewClaimResult, err error) { renewed <- err })
		synctest.Wait()
		if len(noted) > 0 || len(renewed) > 0 {
			t.Fatal("the note was answered before its commit was known")
		}
		if err := <-noted; err != nil {
			t.Fatal(err)
		}
		if err := <-renewed; err != nil {
			t.Error(err)
		}
	})
}

// openShared opens one of several hubs on a journal.
func openShared(t *testing.T, j journal.Journal) *Hub {
	t.Helper()
	h, err := Open(j, &Options{Peers: memory.NewPeers().Join()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// readCounter counts how often a conversation is read.
type readCounter struct {
	*memory.Journal

	mu    sync.Mutex // guards reads
	reads map[string]int
}

func (j *readCounter) Read(conversation string, after int64, maxEvents, maxBytes int) ([]journal.Record, error) {
	j.mu.Lock()
	j.reads[conversation]++
	j.mu.Unlock()
	return j.Journal.Read(conversation, after, maxEvents, maxBytes)
}

// TestFollowedIsNotReadAgain: a hub that follows another's conversation takes what it has scanned, and reads the journal a second time for none of it.
func TestFollowedIsNotReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := memory.New()
		t.Cleanup(func() { _ = j.Close() })
		counted := &readCounter{Journal: j, reads: map[string]int{}}
		behind, other := openShared(t, counted), openShared(t, j)
		synctest.Wait()
		id := begin(t, other, parley.Limits{}, parley.Participant{ID: "a", Kind: parley.KindAgent})
		synctest.Wait()
		var last int64
		for range 3 {
			r, err := other.Client(other.LocalPrincipal("a")).SendNote(t.Context(), &parley.SendNoteParams{ConversationID: id, Payload: parley.Note{Schema: "s", Data: []byte(`1`)}})
			if err != nil {
				t.Fatal(err)
			}
			last = r.Seq
			synctest.Wait()
		}
		c, err := behind.conv.Pin(id)
		if err != nil {
			t.Fatal(err)
		}
		defer behind.conv.Unpin(c)
		if got := c.Durable().Seq; got != last {
			t.Errorf("it has followed up to seq %d, expected %d", got, last)
		}
		counted.mu.Lock()
		defer counted.mu.Unlock()
		if n := counted.reads[id]; n > 0 {
			t.Errorf("what was scanned was read again %d times", n)
		}
	})
}
