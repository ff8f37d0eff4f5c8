package hub_test

import (
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// TestApproval: an agent asks, a person answers, once; the log has both, and the claim has its time again.
func TestApproval(t *testing.T) {
	atWork(t, &parley.Limits{TurnTimeoutMs: 10_000}, func(t *testing.T, h *hub.Hub, j journal.Journal, r *host, id, claim string) {
		b := approver(h, "b")
		pass(6 * time.Second)
		a := asks(t, h, r.p, may(id, "k"))
		want := parley.Approval{
			ApprovalID: id + ".3", ConversationID: id, AgentID: "a", Turn: 1, Key: "k", Title: "Delete k?", Details: may(id,
				"k").Details, Status: parley.ApprovalPending,
			RequestedAt: parley.TimestampOf(h.Now()), ExpiresAt: parley.TimestampOf(h.Now().Add(10 * time.Minute)), Seq: 4,
		}
		sameApproval(t, a, want)
		if again := asks(t, h, r.p, may(id, "k")); !again.Duplicate || again.ApprovalID != a.ApprovalID {
			t.Fatalf("%+v", again)
		}
		want.MayAnswer = true
		sameApproval(t, approval(t, h, b, a.ApprovalID), want)
		pass(5 * time.Minute) // the deadline does not run
		got := answers(t, h, b, a.ApprovalID, parley.DecisionApproved)
		want.Status, want.By, want.MayAnswer, want.Seq, want.ResolvedAt = parley.ApprovalApproved, "b", false, 5, parley.TimestampOf(h.Now())
		sameApproval(t, got, want)
		sameApproval(t, approval(t, h, r.p, a.ApprovalID), want)
		_, err := resolve(t, h, b, a.ApprovalID, parley.DecisionRejected)
		refused(t, err, parley.ErrAlreadyResolved)
		pass(9999 * time.Millisecond)
		wantTurns(t, j, id, "claimed(r1 1)", "approval_requested", "approval_details", "approval_resolved")
		pass(time.Millisecond)
		wantTurns(t, j, id, "claimed(r1 1)", "approval_requested", "approval_details", "approval_resolved",
			"claim_ended(expired)")
	})
}
