package fold_test

import (
	"errors"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/fold/idempotency"
)

// after sends a final message of a participant that has read up to a seq.
func (s *story) after(from string, seq int64) error {
	s.t.Helper()
	return fold.Decide(s.state, s.keys, fold.Command{From: from, Now: s.now,
		Do: &fold.Message{Finality: turn, Payload: text("words of " + from), AfterSeq: &seq}}).Err
}

// TestAfterSeqPassesOverWithdrawnWords checks that afterSeq ignores withdrawn messages, and still detects valid ones.
func TestAfterSeqPassesOverWithdrawnWords(t *testing.T) {
	for _, end := range []parley.ClaimEnd{parley.ClaimExpired, parley.ClaimDisconnected, parley.ClaimRestarted} {
		s := &story{t: t, state: fold.State{ID: "x"}, keys: idempotency.Keys{}}
		s.create(roundRobin, "h", &parley.Limits{MaxAttempts: 1, OnTurnTimeout: parley.TurnSkip}, agentsAnd("h", "a", "b")...)
		s.say("h", turn)
		read := s.state.Seq
		s.take("a", "a1").say("a", none).say("a", none)
		if err := s.after("a", read); err == nil {
			t.Fatal("a speaks without the claim")
		}
		s.lapse(end)
		if end == parley.ClaimRestarted { // no attempt: the turn is still a's
			s.cancel("h")
		}
		if speaker := s.state.Floor().Speaker; speaker != "b" {
			t.Fatalf("%s: %s has the floor", end, speaker)
		}
		if err := s.after("b", read); err != nil {
			t.Errorf("%s: nothing that counts was said after seq %d: %v", end, read, err)
		}
		if err := s.after("b", read-1); !errors.Is(err, parley.ErrTurnConflict) {
			t.Errorf("%s: h has spoken after seq %d: %v", end, read-1, err)
		}
		s.say("b", turn)
		if err := s.after("h", read); !errors.Is(err, parley.ErrTurnConflict) {
			t.Errorf("%s: b has spoken after seq %d: %v", end, read, err)
		}
	}
}

// TestYieldedWordsCount checks that the messages before a yield stay valid, also for afterSeq.
func TestYieldedWordsCount(t *testing.T) {
	s := &story{t: t, state: fold.State{ID: "x"}, keys: idempotency.Keys{}}
	s.create(roundRobin, "h", nil, agentsAnd("h", "a", "b")...)
	s.say("h", turn)
	read := s.state.Seq
	s.take("a", "a1").say("a", none).release("a", parley.ClaimYielded)
	if err := s.after("b", read); !errors.Is(err, parley.ErrTurnConflict) {
		t.Errorf("a has spoken after seq %d: %v", read, err)
	}
}

// TestRunner checks that turn_claimed names the claiming runner only if it is not the participant.
func TestRunner(t *testing.T) {
	for by, want := range map[string]string{"": "", "a": "", "mallory": "mallory"} {
		s := &story{t: t, state: fold.State{ID: "x"}, keys: idempotency.Keys{}}
		s.create(roundRobin, "", nil, seats("a")...)
		d := fold.Decide(s.state, s.keys, fold.Command{From: "a", By: by, Now: s.now,
			Do: &fold.Take{Turn: 1, NewClaim: fold.NewClaim{New: eventdata.HashClaim("clm_1_x")}}})
		if d.Err != nil || len(d.Events) != 1 {
			t.Fatalf("%q: %+v", by, d)
		}
		if sys, err := d.Events[0].Event.System(); err != nil || sys.Runner != want {
			t.Errorf("%q: %s, %v", by, d.Events[0].Data, err)
		}
	}
}
