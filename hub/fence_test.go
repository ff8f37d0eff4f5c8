package hub_test

import (
	"errors"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/history"
)

// TestStaleHolderIsRefused lets a holder speak after its claim is lost. The model of turns must
// accept the answer of the hub.
func TestStaleHolderIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, _ journal.Journal) {
		if err := history.CheckTurns(staleHolder(t, h), 0); err != nil {
			t.Fatal(err)
		}
	})
}

// staleHolder lets a claim lapse. Its holder then tries to renew it, and speaks after that failed.
// staleHolder returns the calls with the answers of the hub.
func staleHolder(t *testing.T, h *hub.Hub) []history.Op {
	t.Helper()
	r1 := push(t, h, "r1", "a")
	id := asked(t, h, &parley.Limits{TurnTimeoutMs: 10_000})
	c := r1.claim()
	var ops []history.Op
	note := func(kind history.Kind, err error) {
		at := int64(2 * len(ops))
		o := history.Op{Conversation: id, Client: "r1", Kind: kind, Turn: c.Turn, Claim: c.ClaimID, Begin: at, End: at + 1, Result: history.Done}
		if errors.Is(err, parley.ErrClaimLost) {
			o.Result = history.Lost
		} else if err != nil {
			t.Fatal(err)
		}
		ops = append(ops, o)
	}
	note(history.Claim, nil)
	say(t, h, r1.p, under(message(id, "half", parley.FinalityNone, ""), c.ClaimID))
	note(history.Say, nil)
	pass(10 * time.Second)
	_, err := renew(h, r1.p, id, c.ClaimID)
	note(history.Renew, err)
	note(history.Final, (<-post(h, r1.p, under(message(id, "late", parley.FinalityTurn, ""), c.ClaimID))).err)
	return ops
}
