package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/rpc"
)

// TestRatesAreKept: a client over the rate limit of its token is slowed. It returns the error only
// if its ctx does not allow the wait.
func TestRatesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newMemoryHub(t, &rpc.Options{Rates: &rpc.Rates{WritesPerSecond: 2, WriteBurst: 3}})
		c := h.dial(t, "root", "alice")
		begin := time.Now()
		_, err := c.CreateConversation(t.Context(), &parley.CreateConversationParams{
			ConversationID: "case", Participants: []parley.Participant{{ID: "alice", Kind: parley.KindAgent}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			r, err := c.SendNote(
				t.Context(),
				&parley.SendNoteParams{ConversationID: "case", Payload: parley.Note{Schema: "n", Data: fmt.Append(nil, i)}},
			)
			if err != nil || r.Seq != int64(i)+2 || r.Duplicate {
				t.Fatalf("note %d: %+v, %v", i, r, err)
			}
		}
		if took := time.Since(begin); took < 4*time.Second || took > 12*time.Second {
			t.Errorf("11 writes, of which 3 are free and 2 a second follow, took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		for err == nil {
			_, err = c.SendNote(
				ctx,
				&parley.SendNoteParams{ConversationID: "case", Payload: parley.Note{Schema: "n", Data: []byte("0")}},
			)
		}
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, parley.ErrRateLimited) ||
			errors.Is(err, parley.ErrOutcomeUnknown) {
			t.Errorf("a write that had no time to wait: %v", err)
		}
	})
}
