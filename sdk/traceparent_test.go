package sdk_test

import (
	"slices"
	"testing"

	"github.com/parleyhub/parley"
)

// TestContractTraceparent: a client sends the span of its context with each write, unless the
// params name another one. A retry in another span returns the first result. The executor of the
// turn continues the trace.
func TestContractTraceparent(t *testing.T) {
	t.Parallel()
	const one, two = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	eachDoor(t, func(t *testing.T, s *scene) {
		ctx := parley.WithTraceparent(t.Context(), one)
		p := peers()
		p.ClientRequestID, p.Participants[1].Kind = "traced", parley.KindAgent
		made, err := s.a.CreateConversation(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		id := made.ConversationID
		if _, err := s.a.SendTrace(ctx, &parley.SendTraceParams{ConversationID: id, Payload: []byte(`{"kind":"k"}`)}); err != nil {
			t.Fatal(err)
		}
		note := &parley.SendNoteParams{
			ConversationID:  id,
			Payload:         parley.Note{Schema: "s", Data: []byte("1")},
			Traceparent:     two,
			ClientRequestID: "n",
		}
		if _, err := s.a.SendNote(ctx, note); err != nil || note.Traceparent != two {
			t.Fatal(err, note.Traceparent)
		}
		said := &parley.SendMessageParams{
			ConversationID:  id,
			Payload:         []byte(`{"text":"t"}`),
			Finality:        parley.FinalityTurn,
			ClientRequestID: "m",
		}
		if _, err := s.a.SendMessage(ctx, said); err != nil || said.Traceparent != "" {
			t.Fatal(err, said.Traceparent)
		}
		if again, err := s.a.SendMessage(parley.WithTraceparent(t.Context(), two), said); err != nil || !again.Duplicate {
			t.Fatalf("again, in another span: %+v, %v", again, err)
		}
		page, err := s.a.Tail(t.Context(), &parley.TailParams{ConversationID: id})
		if err != nil {
			t.Fatal(err)
		}
		var spans []string
		for _, e := range page.Events {
			spans = append(spans, e.Traceparent)
		}
		if !slices.Equal(spans, []string{one, one, two, one}) {
			t.Errorf("said in %q", spans)
		}
		claimed, err := s.b.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: id, Turn: 2})
		if err != nil || claimed.Traceparent != one {
			t.Errorf("claimed %+v, %v", claimed, err)
		}
	})
}
