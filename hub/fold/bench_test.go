package fold_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/idempotency"
)

func BenchmarkDecide(b *testing.B) {
	payload := json.RawMessage(`{"text":"The quick brown fox jumps over the lazy dog.","data":{"n":1,"list":[1,2,3]},"tags":["a"]}`)
	for _, seats := range []int{2, 64} {
		b.Run(fmt.Sprintf("message/%d", seats), func(b *testing.B) {
			state, keys := begun(b, seats), idempotency.Keys{}
			b.ReportAllocs()
			var d fold.Decision
			c := fold.Command{From: "p0", Now: state.LastAt, Key: "key-1"}
			c.Do = &fold.Message{Finality: parley.FinalityTurn, Payload: payload}
			for b.Loop() {
				fold.DecideInto(&d, &state, keys, &c)
				if d.Err != nil {
					b.Fatal(d.Err)
				}
			}
		})
	}
	b.Run("not_your_turn", func(b *testing.B) {
		state := begun(b, 2)
		b.ReportAllocs()
		for b.Loop() {
			d := fold.Decide(state, idempotency.Keys{}, fold.Command{
				Do: &fold.Message{Finality: parley.FinalityTurn, Payload: payload}, From: "p1", Now: state.LastAt})
			if d.Err == nil {
				b.Fatal("taken")
			}
		}
	})
}

func begun(b *testing.B, n int) fold.State {
	q := &parley.CreateConversationParams{}
	for i := range n {
		q.Participants = append(q.Participants, parley.Participant{ID: fmt.Sprint("p", i), Kind: parley.KindAgent})
	}
	d := fold.Decide(fold.State{ID: "x"}, idempotency.Keys{},
		fold.Command{Do: &fold.Create{Params: q}, From: "p0", Now: 1})
	if d.Err != nil {
		b.Fatal(d.Err)
	}
	return d.State
}

func BenchmarkCheckMessage(b *testing.B) {
	payload := json.RawMessage(`{"text":"The quick brown fox jumps over the lazy dog.","data":{"n":1,"list":[1,2,3]},"tags":["a"]}`)
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := check.Message(payload); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGuidance(b *testing.B) {
	state := begun(b, 4)
	for _, explain := range []bool{false, true} {
		b.Run(fmt.Sprintf("explain=%t", explain), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				state.Guidance("p1", explain)
			}
		})
	}
}
