package fold_test

import (
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// TestTraceparentIsEncodedLast checks that the traceparent is the last member of an event, as Event.Encode writes it,
// and that an event without one has the same size as before.
func TestTraceparentIsEncodedLast(t *testing.T) {
	const span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	e := parley.Event{
		Seq: 3, Turn: 1, Type: parley.TypeMessage, From: "a", At: 1, Finality: parley.FinalityTurn,
		Payload: []byte(`{"text":"t"}`), ClientRequestID: "k",
		Cause: &parley.Cause{ConversationID: "c", Seq: 2}, Hops: 1,
	}
	without := string(eventdata.AppendEvent(nil, &e))
	e.Traceparent = span
	with := string(eventdata.AppendEvent(nil, &e))
	if want := without[:len(without)-1] + `,"traceparent":"` + span + `"}`; with != want {
		t.Errorf("encoded as\n%s\nwant\n%s", with, want)
	}
	if canonical, err := e.Encode(); err != nil || string(canonical) != with {
		t.Errorf("encoded as\n%s\nEvent.Encode gives\n%s, %v", with, canonical, err)
	}
}

// TestUnclaimedTurnsCostNoMore checks that the end of an unclaimed turn allocates nothing for spans.
func TestUnclaimedTurnsCostNoMore(t *testing.T) {
	s := fold.State{ID: "c"}
	apply := func(e parley.Event) {
		t.Helper()
		var err error
		if s, err = s.Apply(&e, 1); err != nil {
			t.Fatal(err)
		}
	}
	apply(parley.Event{Seq: 1, Type: parley.TypeSystem, From: parley.HubID, At: 1, Payload: []byte(
		`{"kind":"conversation_created","createdBy":"a","participants":[{"id":"a","kind":"peer"}],"policy":{"kind":"open"},"limits":{}}`)})
	said := parley.Event{Seq: 2, Turn: 1, Type: parley.TypeMessage, From: "a", At: 2, Payload: []byte(`{"text":"t"}`)}
	cost := func(f parley.Finality) float64 {
		e := said
		e.Finality = f
		return testing.AllocsPerRun(100, func() {
			if _, err := s.Apply(&e, 1); err != nil {
				t.Fatal(err)
			}
		})
	}
	// what its author has done is copied
	if words, turn := cost(parley.FinalityNone), cost(parley.FinalityTurn); turn > words+1 {
		t.Errorf("%v allocations for words, %v for those that end the turn", words, turn)
	}
}
