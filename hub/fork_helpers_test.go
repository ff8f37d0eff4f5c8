package hub_test

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// forks makes a fork and returns its error.
func forks(h *hub.Hub, p *hub.Principal, q parley.ForkConversationParams) (*parley.Snapshot, error) {
	return one(func(done func(*parley.Snapshot, error)) { h.ForkConversation(p, &q, done) })
}

// forked makes a fork at a seq, compares it with the original, and returns its id.
func forked(t testing.TB, h *hub.Hub, j journal.Journal, p *hub.Principal, id string, seq int64) string {
	t.Helper()
	s, err := forks(h, p, parley.ForkConversationParams{ConversationID: id, Seq: seq})
	if err != nil {
		t.Fatal(err)
	}
	isFork(t, j, s.ConversationID, id, seq, p.AgentID)
	return s.ConversationID
}

// isFork fails the test unless a conversation begins with the bytes of another up to a seq, and says so by what can be made again.
func isFork(t testing.TB, j journal.Journal, id, other string, seq int64, by string) {
	t.Helper()
	hash := journal.Genesis(other)
	there, here := records(t, j, other, seq), records(t, j, id, seq+1)
	for i := range there {
		if !bytes.Equal(there[i].Data, here[i].Data) {
			t.Fatalf("event %d of %s is %s, of its fork %s", i+1, other, there[i].Data, here[i].Data)
		}
		hash = hash.Next(here[i].Data)
	}
	var e parley.Event
	if err := e.UnmarshalJSON(here[seq].Data); err != nil {
		t.Fatal(err)
	}
	sys, err := e.System()
	want := parley.ForkRecord{ConversationID: other, Seq: seq, Hash: hex.EncodeToString(hash[:])}
	if err != nil || sys.Kind != parley.KindConversationForked || sys.Fork == nil || *sys.Fork != want ||
		sys.CreatedBy != by || e.From != parley.HubID {
		t.Fatalf("after the shared events stands %s, want the fork %+v", here[seq].Data, want)
	}
}

// records returns the first n records of a conversation.
func records(t testing.TB, j journal.Journal, id string, n int64) []journal.Record {
	t.Helper()
	out, err := j.Read(id, 0, int(n), 1<<30)
	if err != nil || int64(len(out)) != n {
		t.Fatalf("%d records of %s, want %d: %v", len(out), id, n, err)
	}
	return out
}

// snapshot returns a conversation without its events.
func snapshot(t testing.TB, h *hub.Hub, p *hub.Principal, id string) *parley.Snapshot {
	t.Helper()
	s, _, err := h.GetConversation(t.Context(), p, &parley.GetConversationParams{ConversationID: id, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
