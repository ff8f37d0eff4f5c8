package hub

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// BenchmarkChanges is what a commit pays so that watchers learn of it: for the conversation that has changed last, for one of many, and for one that makes another be forgotten.
func BenchmarkChanges(b *testing.B) {
	for name, ids := range map[string]int{"same": 1, "many": maxChanged, "forgets": 2 * maxChanged} {
		b.Run(name, func(b *testing.B) {
			names := make([]string, ids)
			for i := range names {
				names[i] = fmt.Sprint("conversation-", i)
			}
			c := newChanges(randomID)
			for i := range 2 * maxChanged {
				c.note(names[i%ids])
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				c.note(names[i%ids])
			}
		})
	}
}

// TestChangesCost: nothing is allocated for a change where nobody waits, once there are as many conversations as are kept.
func TestChangesCost(t *testing.T) {
	c := newChanges(randomID)
	for i := range maxChanged {
		c.note(fmt.Sprint(i))
	}
	if n := testing.AllocsPerRun(1000, func() { c.note("7"); c.note("8") }); n != 0 {
		t.Errorf("%v allocations for one that is kept", n)
	}
	for i := range 3 * maxChanged {
		c.note(fmt.Sprint("other", i))
	}
	if len(c.entries) != maxChanged {
		t.Errorf("%d are kept", len(c.entries))
	}
}

// TestChangesOfTwoHubs: of hubs that share a journal each tells every change once: of its own when it is committed, of the other's when it follows.
func TestChangesOfTwoHubs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := memory.New()
		t.Cleanup(func() { _ = j.Close() })
		one, two := openShared(t, j), openShared(t, j)
		id := begin(t, one, parley.Limits{}, parley.Participant{ID: "a", Kind: parley.KindPeer})
		synctest.Wait()
		for i, h := range []*Hub{one, two, one, one} {
			before := []int64{one.changes.now(), two.changes.now()}
			note := &parley.SendNoteParams{ConversationID: id, Payload: parley.Note{Schema: "s", Data: []byte(`1`)}}
			if _, err := h.Client(h.LocalPrincipal("a")).SendNote(t.Context(), note); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if after := []int64{one.changes.now(), two.changes.now()}; after[0] != before[0]+1 || after[1] != before[1]+1 {
				t.Errorf("note %d: %v changes after %v", i, after, before)
			}
		}
	})
}
