package fold_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// TestKeysOfManyEvents checks that a used key is found, with its claim, after every number of events.
func TestKeysOfManyEvents(t *testing.T) {
	s := &story{t: t, state: fold.State{ID: "x"}}
	s.do(fold.Command{
		Do: &fold.Create{Params: &parley.CreateConversationParams{
			Participants: seats("a", "b"), Policy: &parley.Policy{Kind: parley.PolicyOpen}}},
		From: "a",
	})
	said := func(i int) fold.Command {
		return fold.Command{From: "a", Now: s.now, Key: fmt.Sprint("k", i),
			Do: &fold.Message{Finality: parley.FinalityTurn, Payload: []byte(fmt.Sprintf(`{"text":"%d"}`, i))}}
	}
	for i := range 3000 {
		d := fold.Decide(s.state, s.keys, said(i))
		if d.Err != nil || d.Duplicate {
			t.Fatalf("key %d: %+v", i, d.Err)
		}
		enter(&s.keys, &d.Events[0])
		s.state = d.State
		old := said(i * 7 / 8)
		if d := fold.Decide(s.state, s.keys, old); d.Err != nil || !d.Duplicate || d.Seq != int64(i*7/8+2) {
			t.Fatalf("key %d again after %d: %+v", i*7/8, i, d)
		}
		old.Do.(*fold.Message).Payload = []byte(`{"text":"other"}`)
		if d := fold.Decide(s.state, s.keys, old); !errors.Is(d.Err, parley.ErrIdempotencyConflict) {
			t.Fatalf("key %d with another text after %d: %+v", i*7/8, i, d)
		}
		old.From = "b"
		if d := fold.Decide(s.state, s.keys, old); d.Duplicate {
			t.Fatalf("key %d of another after %d", i*7/8, i)
		}
	}
	if per := s.keys.Size() / 3000; per > 48 {
		t.Fatalf("a key takes %d bytes", per)
	}
}
