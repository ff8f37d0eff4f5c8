package fold_test

import (
	"encoding/json"
	"fmt"

	"pgregory.net/rapid"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// questions are the approvals of a log, by their ids, read without the fold.
type questions map[string]*question

type question struct {
	turn   int64
	status parley.ApprovalStatus
	over   parley.Timestamp
}

func (q questions) pending() int {
	n := 0
	for _, a := range q {
		if a.status == parley.ApprovalPending {
			n++
		}
	}
	return n
}

// read takes an event: an approval ends once, in its turn.
func (q questions) read(rt *rapid.T, e *parley.Event) {
	if e.Type != parley.TypeSystem {
		if e.Finality.Final() {
			q.cancel()
		}
		return
	}
	sys, err := e.System()
	if err != nil {
		rt.Fatal(err)
	}
	switch sys.Kind {
	case parley.KindTurnEnded:
		q.cancel()
	case parley.KindTurnClaimed:
		if q.pending() > 0 {
			rt.Fatal("a turn that waits for an approval is claimed")
		}
	case parley.KindClaimEnded:
		if parley.ClaimEnd(sys.Reason) == parley.ClaimExpired && q.pending() > 0 {
			rt.Fatal("a claim expires whose turn waits for an approval")
		}
	case parley.KindApprovalRequested:
		if sys.Approval.ApprovalID != fmt.Sprintf("cnv.%d", e.Seq) {
			rt.Fatalf("the approval %s at seq %d", sys.Approval.ApprovalID, e.Seq)
		}
		q[sys.Approval.ApprovalID] = &question{turn: sys.Turn, status: parley.ApprovalPending, over: sys.Approval.ExpiresAt}
	case parley.KindApprovalResolved:
		a := q[sys.Approval.ApprovalID]
		if a == nil || a.status != parley.ApprovalPending || a.turn != sys.Turn {
			rt.Fatalf("%s is resolved, and is %+v", sys.Approval.ApprovalID, a)
		}
		if timedOut := sys.Approval.Status == parley.ApprovalTimedOut; timedOut != (e.At >= a.over) {
			rt.Fatalf("an approval until %d is resolved as %s at %d", a.over, sys.Approval.Status, e.At)
		}
		a.status = sys.Approval.Status
	}
}

func (q questions) cancel() {
	for _, a := range q {
		if a.status == parley.ApprovalPending {
			a.status = parley.ApprovalCanceled
		}
	}
}

// compare holds the state against the log.
func (q questions) compare(rt *rapid.T, s *fold.State) {
	if s.AwaitsApproval() != (q.pending() > 0) || len(s.Pending()) != q.pending() || len(s.Approvals) != len(q) {
		rt.Fatalf("%d approvals, %d pending, by the log %d of %d", len(s.Approvals), len(s.Pending()), q.pending(), len(q))
	}
	for _, a := range s.Approvals {
		if want := q[eventdata.ApprovalID("cnv", a.Seq)]; want == nil || want.status != a.Status || want.turn != a.Turn {
			rt.Fatalf("approval %+v, by the log %+v", a, want)
		}
	}
}

// drawApproval asks for an approval, or answers one.
func (c *claimer) drawApproval(rt *rapid.T, do fold.Action) {
	if q, ok := do.(*fold.RequestApproval); ok {
		q.Key = rapid.SampledFrom([]string{"k1", "k2", "k3"}).Draw(rt, "approval key")
		q.Title = rapid.SampledFrom([]string{"may I", "may I", "may I", "or not"}).Draw(rt, "title")
		q.ExpiresInMs = rapid.SampledFrom([]int64{100, 60_000, 90_000, 1e9}).Draw(rt, "expires")
		if rapid.Bool().Draw(rt, "schema") {
			q.AnswerSchema = json.RawMessage(`{}`)
		}
		return
	}
	a := do.(*fold.ResolveApproval)
	a.Seq = rapid.Int64Range(1, c.state.Seq+1).Draw(rt, "approval")
	if n := len(c.state.Approvals); n > 0 && rapid.IntRange(0, 9).Draw(rt, "known") > 0 {
		a.Seq = c.state.Approvals[rapid.IntRange(0, n-1).Draw(rt, "which approval")].Seq
	}
	a.By = rapid.SampledFrom(everybody[:2]).Draw(rt, "by")
	a.Status = rapid.SampledFrom([]parley.ApprovalStatus{parley.ApprovalApproved, parley.ApprovalRejected}).
		Draw(rt, "decision")
	if a.Status == parley.ApprovalApproved && rapid.Bool().Draw(rt, "answers") {
		a.Answer = json.RawMessage(`{"x":1}`)
	}
}

// onlyTimedOut reports whether events are ends of approvals whose time is over: they may come with a refusal.
func onlyTimedOut(events []fold.EncodedEvent) bool {
	for i := range events {
		sys, err := events[i].Event.System()
		if err != nil || sys.Kind != parley.KindApprovalResolved || sys.Approval.Status != parley.ApprovalTimedOut {
			return false
		}
	}
	return true
}
