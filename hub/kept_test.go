package hub_test

import (
	"encoding/json"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// keep asks for a conversation that an adapter keeps.
func keep(h *hub.Hub, p *hub.Principal, id string) error {
	_, err := one(func(done func(*parley.Snapshot, error)) {
		h.CreateConversation(p, &parley.CreateConversationParams{ConversationID: id,
			Participants: []parley.Participant{{ID: p.AgentID, Kind: parley.KindTool},
				{ID: "bob", Kind: parley.KindAgent}}}, done)
	})
	return err
}

func noteIn(h *hub.Hub, p *hub.Principal, id string) error {
	_, err := one(func(done func(parley.SeqResult, error)) {
		h.SendNote(p, &parley.SendNoteParams{ConversationID: id, Payload: parley.Note{Schema: "s.v1", Data: json.RawMessage(`{"n":1}`)}}, done)
	})
	return err
}

func closeIt(h *hub.Hub, p *hub.Principal, id string) error {
	_, err := one(func(done func(parley.SeqResult, error)) {
		h.CloseConversation(p, &parley.CloseConversationParams{ConversationID: id}, done)
	})
	return err
}

// TestKeptConversations: an admin creates them, writes notes there and closes them. No one else
// sees them, and no other write is allowed.
func TestKeptConversations(t *testing.T) {
	h := startOn(t, newJournal(t), rooted("t"))
	admin, err := h.Authenticate(t.Context(), rootToken, "")
	if err != nil {
		t.Fatal(err)
	}
	const id = "~a2a.1"
	bob := mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "bob", Scopes: []parley.Scope{parley.ScopeRead,
		parley.ScopeWrite, parley.ScopeTrace, parley.ScopeCreate, parley.ScopeClaim}})
	narrow := mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "n", Scopes: []parley.Scope{parley.ScopeAdmin},
		Conversations: []string{"ca"}})

	refused(t, keep(h, bob, id), parley.ErrValidationFailed)
	refused(t, keep(h, narrow, id), parley.ErrForbidden)
	for _, other := range []string{"~tokens", "~a2a", "~a2a.", "~a2ax", "~mine", "~a2a.a/b", "~a2a.1.2", "~a2a." + long(60)} {
		refused(t, keep(h, admin, other), parley.ErrValidationFailed)
	}
	refused(t, noteIn(h, admin, id), parley.ErrNotFound)
	if err := keep(h, admin, id); err != nil {
		t.Fatal(err)
	}
	if err := keep(h, admin, "~a2a."+long(59)); err != nil {
		t.Fatal(err)
	}
	refused(t, keep(h, admin, id), parley.ErrAlreadyExists)
	if err := noteIn(h, admin, id); err != nil {
		t.Fatal(err)
	}
	// Neither that he has a seat there nor his scopes let him see it.
	for _, p := range []*hub.Principal{bob, narrow} {
		for _, c := range calls {
			_, err := c.do(h, p, id)
			refused(t, err, parley.ErrNotFound)
		}
		refused(t, closeIt(h, p, id), parley.ErrNotFound)
		list, err := h.ListConversations(t.Context(), p, &parley.ListConversationsParams{})
		if err != nil || len(list.Conversations) != 0 {
			t.Fatalf("%+v, %v", list, err)
		}
	}
	list, err := h.ListConversations(t.Context(), admin, &parley.ListConversationsParams{})
	if err != nil || len(list.Conversations) != 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	_, err = one(func(done func(parley.SendResult, error)) {
		h.SendMessage(admin, &parley.SendMessageParams{ConversationID: id, Payload: json.RawMessage(`{"text":"a"}`), Finality: parley.FinalityTurn}, done)
	})
	refused(t, err, parley.ErrForbidden)
	_, err = one(func(done func(parley.SendResult, error)) {
		h.SendTrace(admin, &parley.SendTraceParams{ConversationID: id, Payload: json.RawMessage(`{"kind":"a"}`)}, done)
	})
	refused(t, err, parley.ErrForbidden)
	_, err = one(func(done func(parley.SeqResult, error)) {
		h.AddParticipant(admin, &parley.AddParticipantParams{ConversationID: id, Participant: seats("carol")[0]}, done)
	})
	refused(t, err, parley.ErrForbidden)
	_, err = one(func(done func(parley.ClaimTurnResult, error)) {
		h.ClaimTurn(admin, &parley.ClaimTurnParams{ConversationID: id, Turn: 1}, done)
	})
	refused(t, err, parley.ErrNotFound)
	if err := closeIt(h, admin, id); err != nil {
		t.Fatal(err)
	}
	refused(t, noteIn(h, admin, id), parley.ErrConversationClosed)
	page, err := h.Tail(t.Context(), admin, &parley.TailParams{ConversationID: id})
	if err != nil || len(page.Events) != 3 {
		t.Fatalf("%d events, %v", len(page.Events), err)
	}
}
