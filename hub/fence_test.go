package hub_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/internal/rule"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/history"
)

// TestModelSeesTheFence: a holder that speaks on after it was told that its claim is lost is refused, and where it is not the model of turns tells it from what
// callers were told alone.
func TestModelSeesTheFence(t *testing.T) {
	for name, fence := range map[string]bool{"on": true, "off": false} {
		t.Run(name, func(t *testing.T) {
			rule.Switch(rule.StaleRef, fence)
			defer rule.Switch(rule.StaleRef, true)
			inBubble(t, func(t *testing.T, h *hub.Hub, _ journal.Journal) {
				err := history.CheckTurns(staleHolder(t, h), 0)
				if (err == nil) != fence {
					t.Fatalf("with the fence %s: %v", name, err)
				}
				if err != nil && !strings.Contains(err.Error(), "none of these can be next:\n  r1: final of turn 1") {
					t.Fatalf("the model names another call: %v", err)
				}
			})
		})
	}
}

// staleHolder lets a claim lapse, and its holder ask for it and then speak all the same. It gives what it was told.
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
