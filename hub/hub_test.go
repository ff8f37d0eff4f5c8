package hub_test

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// open starts a hub on a journal in memory. Both are ended, and the log is checked, at the end of the test.
func open(t *testing.T, o *hub.Options) (*hub.Hub, *memory.Journal) {
	t.Helper()
	j := memory.New()
	h, err := hub.Open(j, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		checkLog(t, j)
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return h, j
}

func text(s string) json.RawMessage {
	b, err := json.Marshal(parley.Message{Text: s})
	if err != nil {
		panic(err)
	}
	return b
}

// seats are of peers, who never claim.
func seats(ids ...string) []parley.Participant { return seatsOf(parley.KindPeer, ids...) }

func seatsOf(kind parley.ParticipantKind, ids ...string) []parley.Participant {
	var out []parley.Participant
	for _, id := range ids {
		out = append(out, parley.Participant{ID: id, Kind: kind})
	}
	return out
}

func TestTwoSpeakAndClose(t *testing.T) {
	h, _ := open(t, nil)
	ctx := t.Context()
	clinic, payer := h.Client(h.LocalPrincipal("clinic")), h.Client(h.LocalPrincipal("payer"))
	s, err := clinic.CreateConversation(ctx, &parley.CreateConversationParams{Participants: seats("clinic", "payer")})
	if err != nil {
		t.Fatal(err)
	}
	id := s.ConversationID
	if _, err := payer.SendMessage(ctx, &parley.SendMessageParams{ConversationID: id, Payload: text("me first"),
		Finality: parley.FinalityTurn}); !errors.Is(err, parley.ErrNotYourTurn) {
		t.Fatalf("payer out of turn: %v", err)
	}
	if _, err := clinic.SendMessage(ctx, &parley.SendMessageParams{ConversationID: id, Payload: text("hello"),
		Finality: parley.FinalityTurn}); err != nil {
		t.Fatal(err)
	}
	last := &parley.SendMessageParams{ConversationID: id, Payload: text("bye"), Finality: parley.FinalityConversation, ClientRequestID: "k"}
	first, err := payer.SendMessage(ctx, last)
	if err != nil {
		t.Fatal(err)
	}
	again, err := payer.SendMessage(ctx, last)
	if err != nil || again.Seq != first.Seq || !again.Duplicate {
		t.Fatalf("retry of the closing message: %+v, %v", again, err)
	}
	var got []int64
	for e, err := range clinic.Events(ctx, id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Seq)
	}
	if len(got) != 3 {
		t.Fatalf("events %v", got)
	}
}

func TestIdleTimeoutCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := open(t, nil)
		clinic := h.Client(h.LocalPrincipal("clinic"))
		s, err := clinic.CreateConversation(t.Context(), &parley.CreateConversationParams{
			Participants: seats("clinic", "payer"), Limits: &parley.Limits{IdleTimeoutMs: 1000},
		})
		if err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		var last parley.Event
		for e, err := range clinic.Events(t.Context(), s.ConversationID, 0) {
			if err != nil {
				t.Fatal(err)
			}
			last = e
		}
		if last.Outcome == nil || last.Outcome.Reason != parley.ReasonIdleTimeout || time.Since(before) != time.Second {
			t.Fatalf("closed by %+v after %v", last, time.Since(before))
		}
	})
}
