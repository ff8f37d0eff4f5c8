package hub

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// TestStartIsToldOnce: the start of a session is not told again by a hub that comes late: neither on a state of its parent that has passed, nor when it has seen the end
// before it saw that the parent knew. It is inside the package because the moment in between cannot be waited for from outside.
func TestStartIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := memory.New()
		t.Cleanup(func() { _ = j.Close() })
		h := openShared(t, j)
		id := begin(t, h, parley.Limits{}, parley.Participant{ID: "a", Kind: parley.KindAgent}, parley.Participant{ID: "h", Kind: parley.KindHuman})
		remove, err := h.RegisterAgent(parley.AgentInfo{Name: "x", Type: parley.AgentTypeFunction})
		if err != nil {
			t.Fatal(err)
		}
		defer remove()
		before, err := h.conv.StateOf(id)
		if err != nil {
			t.Fatal(err)
		}
		s, err := h.StartSession(t.Context(), h.LocalPrincipal("h"), &parley.StartSessionParams{
			AgentName: "x", Prompt: "p", Mode: parley.ModeAsyncPoll, ParentConversationID: id,
		})
		if err != nil {
			t.Fatal(err)
		}
		running, err := h.conv.StateOf(s.SessionID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.StopSession(t.Context(), h.LocalPrincipal("h"), &parley.StopSessionParams{SessionID: s.SessionID}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		told, err := h.conv.StateOf(id)
		if err != nil || told.Child(s.SessionID) >= 0 || told.Seq != before.Seq+2 {
			t.Fatalf("seq %d, %v: want its start and its end", told.Seq, err)
		}

		if _, err := h.sessions.tellParent(&before, &running); !errors.Is(err, conv.ErrStale) {
			t.Errorf("a start is told on a state that has passed: %v", err)
		}
		ended, err := h.conv.StateOf(s.SessionID)
		if err != nil {
			t.Fatal(err)
		}
		h.sessions.mu.Lock()
		h.sessions.untold[s.SessionID] = struct{}{} // as of a hub that has read the session before its parent
		h.sessions.mu.Unlock()
		if _, err := h.sessions.attendParent(&ended); err != nil {
			t.Error(err)
		}
		if now, err := h.conv.StateOf(id); err != nil || now.Seq != told.Seq {
			t.Errorf("seq %d, %v: it was told again", now.Seq, err)
		}
	})
}

// TestSureConversationStaysEmpty: nobody can write to the conversation by which a hub finds out whether it is behind.
func TestSureConversationStaysEmpty(t *testing.T) {
	j := memory.New()
	t.Cleanup(func() { _ = j.Close() })
	h := openShared(t, j)
	checkID := "~sure." + h.presence.ID()
	if !conv.Reserved(checkID) || parley.KeptConversationID(checkID) {
		t.Fatalf("%q is not the hub's own", checkID)
	}
	admin := h.LocalPrincipal("admin", parley.ScopeAdmin)
	_, err := h.Client(admin).CreateConversation(t.Context(), &parley.CreateConversationParams{ConversationID: checkID, Participants: []parley.Participant{{ID: "admin", Kind: parley.KindHuman}}})
	if err == nil {
		t.Error("an admin has created it")
	}
}
