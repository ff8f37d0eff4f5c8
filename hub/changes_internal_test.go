package hub

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// TestChangesOfTwoHubs checks that each of two hubs of a journal records every change once: its own when it
// commits it, and the other's when it follows the journal.
func TestChangesOfTwoHubs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := memory.New()
		t.Cleanup(func() { _ = j.Close() })
		one, two := openShared(t, j), openShared(t, j)
		id := begin(t, one, parley.Limits{}, parley.Participant{ID: "a", Kind: parley.KindPeer})
		synctest.Wait()
		for i, h := range []*Hub{one, two, one, one} {
			before := []int{countChanges(t, one), countChanges(t, two)}
			note := &parley.SendNoteParams{ConversationID: id, Payload: parley.Note{Schema: "s", Data: []byte(`1`)}}
			if _, err := h.Client(h.LocalPrincipal("a")).SendNote(t.Context(), note); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if after := []int{countChanges(t, one), countChanges(t, two)}; after[0] != before[0]+1 || after[1] != before[1]+1 {
				t.Errorf("note %d: %v changes after %v", i, after, before)
			}
		}
	})
}

// countChanges returns the number of changes so far, which is in a new cursor.
func countChanges(t *testing.T, h *Hub) int {
	t.Helper()
	r, err := h.WatchConversations(t.Context(), h.LocalPrincipal("a"), &parley.WatchConversationsParams{})
	if err != nil {
		t.Fatal(err)
	}
	_, number, _ := strings.Cut(r.Cursor, ".")
	n, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
