package hub_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// rowOf returns the row of one conversation in the list of an admin.
func rowOf(t testing.TB, h *hub.Hub, id string) parley.ConversationSummary {
	t.Helper()
	list, err := h.ListConversations(t.Context(), root(h), &parley.ListConversationsParams{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Conversations {
		if s.ConversationID == id {
			return s
		}
	}
	t.Fatalf("%s is not listed", id)
	return parley.ConversationSummary{}
}

// TestFloor: the list says who has the floor, since when, and what it waits for that does not come by itself.
func TestFloor(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		since := parley.TimestampOf(h.Now())
		id := asked(t, h, &parley.Limits{MaxAttempts: 1})
		b := h.LocalPrincipal("b")
		is := func(want parley.Floor) {
			t.Helper()
			synctest.Wait()
			got := rowOf(t, h, id).Floor
			if want.Claim != nil && got.Claim != nil {
				want.Claim.DeadlineMs = got.Claim.DeadlineMs
			}
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Fatal(diff)
			}
		}
		pass(time.Second)
		is(parley.Floor{Turn: 1, Speaker: "a", Kind: parley.KindAgent, Since: since, Stuck: parley.StuckNoExecutor})
		r := push(t, h, "r1", "a")
		is(parley.Floor{Turn: 1, Speaker: "a", Kind: parley.KindAgent, Since: since})
		c := r.claim()
		claim := func() *parley.ClaimState { return &parley.ClaimState{AgentID: "a", ExecutorID: "r1", Attempt: 1} }
		is(parley.Floor{Turn: 1, Speaker: "a", Kind: parley.KindAgent, Since: since, Claim: claim()})
		say(t, h, r.p, under(message(id, "hm", parley.FinalityNone, ""), c.ClaimID))
		asked := asks(t, h, r.p, may(id, "k"))
		is(parley.Floor{Turn: 1, Speaker: "a", Kind: parley.KindAgent, Open: true, Since: since, Claim: claim(),
			Approvals: 1, Stuck: parley.StuckApproval})
		answers(t, h, approver(h, "b"), asked.ApprovalID, parley.DecisionRejected)
		if err := release(h, r.p, id, c.ClaimID, parley.ReleaseFailed); err != nil {
			t.Fatal(err)
		}
		is(parley.Floor{Turn: 1, Speaker: "a", Kind: parley.KindAgent, Open: true, Since: since, Attempts: 1,
			Stuck: parley.StuckAttempts})
		r.conn.Close()
		is(parley.Floor{Turn: 1, Speaker: "a", Kind: parley.KindAgent, Open: true, Since: since, Attempts: 1,
			Stuck: parley.StuckNoExecutor})

		pass(time.Second)
		if err := cancelTurn(h, b, id, 1); err != nil {
			t.Fatal(err)
		}
		since = parley.TimestampOf(h.Now())
		pass(time.Second)
		is(parley.Floor{Turn: 2, Speaker: "b", Kind: parley.KindHuman, Since: since})
		since = parley.TimestampOf(h.Now())
		say(t, h, b, message(id, "well", parley.FinalityNone, ""))
		is(parley.Floor{Turn: 2, Speaker: "b", Kind: parley.KindHuman, Open: true, Since: since})
		say(t, h, b, message(id, "bye", parley.FinalityConversation, ""))
		if row := rowOf(t, h, id); row.Floor != nil || row.Status != parley.StatusClosed {
			t.Fatalf("closed: %+v", row)
		}
	})
}

// TestFloorOfAnyone: if anyone may speak, the floor has no speaker.
func TestFloorOfAnyone(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		since := parley.TimestampOf(h.Now())
		id := create(t, h, h.LocalPrincipal("a"), open2("a", "b"))
		if diff := cmp.Diff(&parley.Floor{Turn: 1, Since: since}, rowOf(t, h, id).Floor); diff != "" {
			t.Fatal(diff)
		}
	})
}
