package hub_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

// TestApprovalStopsTheClock: the time that a claim waits counts neither for its duration nor for maxClaimMs, and the executor has room meanwhile.
func TestApprovalStopsTheClock(t *testing.T) {
	atWork(t, &parley.Limits{TurnTimeoutMs: 10_000, MaxClaimMs: 25_000},
		func(t *testing.T, h *hub.Hub, j journal.Journal, r *host, id, claim string) {
			b := approver(h, "b")
			keeps := func(wantMs int64) {
				t.Helper()
				if got, err := renew(h, r.p, id, claim); err != nil || got.DurationMs != wantMs ||
					got.DeadlineMs != h.Now().UnixMilli()+wantMs {
					t.Fatalf("%+v, %v, want %d", got, err, wantMs)
				}
			}
			pass(9 * time.Second)
			keeps(10_000)
			pass(9 * time.Second) // it is held for 18 s, and has one more
			other := asked(t, h, nil)
			r.noOffer()
			a1, a2 := asks(t, h, r.p, may(id, "k1")), asks(t, h, r.p, may(id, "k2"))
			if got := r.waits(); len(got) != 1 || !got[0].Waiting || got[0].ClaimID != claim || got[0].ConversationID != id {
				t.Fatalf("%+v", got)
			}
			if o := r.oneOffer(); o.ConversationID != other {
				t.Fatalf("%+v", o)
			}
			for range 5 {
				pass(time.Minute)
				keeps(10_000)
			}
			answers(t, h, b, a1.ApprovalID, parley.DecisionApproved)
			pass(time.Minute)
			if got := r.waits(); len(got) != 0 {
				t.Fatalf("%+v", got)
			}
			answers(t, h, b, a2.ApprovalID, parley.DecisionRejected)
			if got := r.waits(); len(got) != 1 || got[0].Waiting {
				t.Fatalf("%+v", got)
			}
			keeps(7000) // of 25 s, 18 were over
			asks(t, h, r.p, &parley.RequestApprovalParams{ConversationID: id, Key: "k3", Title: "x", ExpiresInMs: 500})
			pass(500 * time.Millisecond)
			keeps(7000)
			pass(6999 * time.Millisecond)
			keeps(1)
			if h.Counted().Claims != 1 {
				t.Fatal("the claim has ended before its time")
			}
			pass(time.Millisecond)
			if n := h.Counted(); n.ClaimsEnded[parley.ClaimExpired] != 1 {
				t.Fatalf("%v", turnEvents(t, j, id))
			}
		})
}

// TestApprovalJustInTime: a claim stays current if it requests an approval just before its
// deadline.
func TestApprovalJustInTime(t *testing.T) {
	atWork(t, &parley.Limits{TurnTimeoutMs: 10_000}, func(t *testing.T, h *hub.Hub, j journal.Journal, r *host, id, claim string) {
		pass(9999 * time.Millisecond)
		asks(t, h, r.p, may(id, "k"))
		pass(time.Millisecond)
		pass(9 * time.Minute)
		wantTurns(t, j, id, "claimed(r1 1)", "approval_requested", "approval_details")
		if got, err := renew(h, r.p, id, claim); err != nil || got.DurationMs != 10_000 {
			t.Fatalf("%+v, %v", got, err)
		}
	})
}

// TestApprovalExpires: an approval without an answer times out, the claim continues, and no answer
// is accepted.
func TestApprovalExpires(t *testing.T) {
	atWork(t, nil, func(t *testing.T, h *hub.Hub, j journal.Journal, r *host, id, claim string) {
		b := approver(h, "b")
		q := may(id, "k")
		q.ExpiresInMs = limits.MaxApprovalMs
		a := asks(t, h, r.p, q)
		pass(limits.MaxApprovalMs*time.Millisecond - time.Millisecond)
		approvalIs(t, h, b, a.ApprovalID, parley.ApprovalPending)
		pass(time.Millisecond)
		got := approvalIs(t, h, b, a.ApprovalID, parley.ApprovalTimedOut)
		if got.By != "" || got.ResolvedAt != a.ExpiresAt || got.MayAnswer || got.TimedOut {
			t.Fatalf("%+v", got)
		}
		_, err := resolve(t, h, b, a.ApprovalID, parley.DecisionApproved)
		refused(t, err, parley.ErrAlreadyResolved)
		wantTurns(t, j, id, "claimed(r1 1)", "approval_requested", "approval_details", "approval_resolved")
		if again := asks(t, h, r.p, q); !again.Duplicate || again.Status != parley.ApprovalTimedOut {
			t.Fatalf("%+v", again)
		}
		say(t, h, r.p, message(id, "then not", parley.FinalityTurn, ""))
	})
}

// TestApprovalOutlastsSilence: an approval is over when it is time, also where silence would have closed the conversation before.
func TestApprovalOutlastsSilence(t *testing.T) {
	atWork(t, &parley.Limits{IdleTimeoutMs: 10_000}, func(t *testing.T, h *hub.Hub, j journal.Journal, r *host, id, claim string) {
		pass(5 * time.Second)
		q := may(id, "k")
		q.ExpiresInMs = 60_000
		a := asks(t, h, r.p, q)
		pass(60 * time.Second)
		approvalIs(t, h, approver(h, "b"), a.ApprovalID, parley.ApprovalTimedOut)
		pass(9999 * time.Millisecond)
		wantTurns(t, j, id, "claimed(r1 1)", "approval_requested", "approval_details", "approval_resolved")
		pass(time.Millisecond)
		closedAs(t, j, id, parley.OutcomeCanceled, parley.ReasonIdleTimeout)
	})
}

// TestApprovalGrace: a lost executor loses its claim although the turn waits. The turn is offered
// when the answer is there, with a new time limit.
func TestApprovalGrace(t *testing.T) {
	l := &parley.Limits{TurnTimeoutMs: 20_000, OnTurnTimeout: parley.TurnSkip}
	atWork(t, l, func(t *testing.T, h *hub.Hub, j journal.Journal, r *host, id, claim string) {
		b := approver(h, "b")
		a := asks(t, h, r.p, may(id, "k"))
		other := push(t, h, "r2", "a")
		pass(time.Minute)
		r.conn.Close()
		pass(4999 * time.Millisecond)
		if h.Counted().Claims != 1 {
			t.Fatal("the claim has ended before its grace")
		}
		pass(time.Millisecond)
		if h.Counted().ClaimsEnded[parley.ClaimDisconnected] != 1 {
			t.Fatalf("%v", turnEvents(t, j, id))
		}
		pass(5 * time.Minute) // turnTimeoutMs does not run
		other.noOffer()
		_, err := claimTurn(h, other.p, parley.ClaimTurnParams{ConversationID: id, Turn: 1})
		refused(t, err, parley.ErrNotYourTurn)
		refusedMessage(t, h, other.p, message(id, "x", parley.FinalityTurn, ""), parley.ErrNotYourTurn)
		wantTurns(t, j, id, "claimed(r1 1)", "approval_requested", "approval_details", "claim_ended(disconnected)")
		approvalIs(t, h, b, a.ApprovalID, parley.ApprovalPending)
		answers(t, h, b, a.ApprovalID, parley.DecisionApproved)
		pass(250 * time.Millisecond)
		if c := other.claim(); c.Attempt != 2 {
			t.Fatalf("%+v", c)
		}
		if got := asks(t, h, other.p, may(id, "k")); !got.Duplicate || got.ApprovalID != a.ApprovalID ||
			got.Status != parley.ApprovalApproved || got.By != "b" {
			t.Fatalf("%+v", got)
		}
		say(t, h, other.p, message(id, "done", parley.FinalityTurn, ""))
	})
}

// TestApprovalFloorBeginsAnew: turnTimeoutMs of a turn that has waited begins with the answer.
func TestApprovalFloorBeginsAnew(t *testing.T) {
	l := &parley.Limits{TurnTimeoutMs: 20_000, OnTurnTimeout: parley.TurnSkip}
	atWork(t, l, func(t *testing.T, h *hub.Hub, j journal.Journal, r *host, id, claim string) {
		a := asks(t, h, r.p, may(id, "k"))
		if err := release(h, r.p, id, claim, parley.ReleaseFailed); err != nil {
			t.Fatal(err)
		}
		r.conn.Close()
		pass(5 * time.Minute)
		g, err := h.GetGuidance(t.Context(), h.LocalPrincipal("b"), &parley.GetGuidanceParams{ConversationID: id})
		if err != nil || g.Guidance.Kind != parley.Wait || g.Guidance.Reason != "turn 1 of a waits for an approval." {
			t.Fatalf("%+v, %v", g, err)
		}
		answers(t, h, approver(h, "b"), a.ApprovalID, parley.DecisionApproved)
		pass(19_999 * time.Millisecond)
		before := turnEvents(t, j, id)
		if before[len(before)-1] != "approval_resolved" {
			t.Fatalf("%v", before)
		}
		pass(time.Millisecond)
		if after := turnEvents(t, j, id); after[len(after)-1] != "turn_ended(skipped)" {
			t.Fatalf("%v", after)
		}
	})
}

// TestApprovalWaitIsPushed: a waiting caller is answered when the approval is resolved or canceled,
// and not before.
func TestApprovalWaitIsPushed(t *testing.T) {
	atWork(t, nil, func(t *testing.T, h *hub.Hub, j journal.Journal, r *host, id, claim string) {
		b := approver(h, "b")
		waits := func(p *hub.Principal, approvalID string) <-chan *parley.Approval {
			c := make(chan *parley.Approval, 1)
			go func() {
				got, err := h.GetApproval(t.Context(), p, &parley.GetApprovalParams{ApprovalID: approvalID, TimeoutMs: 1 << 40})
				if err != nil {
					t.Error(err)
				}
				c <- got
			}()
			synctest.Wait()
			return c
		}
		a := asks(t, h, r.p, may(id, "k"))
		start := time.Now()
		if got := <-waits(r.p, a.ApprovalID); !got.TimedOut || got.Status != parley.ApprovalPending ||
			time.Since(start) != parley.MaxWaitMs*time.Millisecond {
			t.Fatalf("%+v after %s", got, time.Since(start))
		}
		first, second := waits(r.p, a.ApprovalID), waits(b, a.ApprovalID)
		answers(t, h, b, a.ApprovalID, parley.DecisionApproved)
		for _, c := range []<-chan *parley.Approval{first, second} {
			if got := <-c; got.Status != parley.ApprovalApproved || got.TimedOut || got.Seq != 5 {
				t.Fatalf("%+v", got)
			}
		}
		a = asks(t, h, r.p, may(id, "k2"))
		first = waits(b, a.ApprovalID)
		say(t, h, r.p, message(id, "never mind", parley.FinalityTurn, ""))
		if got := <-first; got.Status != parley.ApprovalCanceled || got.By != "" || got.ResolvedAt != 0 {
			t.Fatalf("%+v", got)
		}
	})
}
