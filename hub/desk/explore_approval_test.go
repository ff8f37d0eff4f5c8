package desk

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// Labels of approvals, behind those of the hubs' own commands.
const (
	labelOver   = 61
	labelAnswer = 62
)

// askApproval requests the one approval of the turn, or finds the request of an earlier attempt.
func (x *explorer) askApproval(w *world, i int) call {
	named := w.reps[i].claim
	q := &fold.RequestApproval{ExpiresInMs: 60_000}
	q.Key, q.Title = "k", "may I"
	c := fold.Command{Do: q, From: agent, Named: &named}
	return call{c, func(w *world, i int, d *fold.Decision) {
		r := &w.reps[i]
		if r.asked = true; d.Err != nil {
			r.forget()
		}
	}}
}

// ofApproval adds the moves for a pending approval: an answer or its timeout.
func (x *explorer) ofApproval(all []move, w *world) []move {
	pending := w.head.state.Pending()
	if len(pending) == 0 {
		return all
	}
	a := pending[0]
	return append(all,
		move{labelAnswer, true, "b answers the approval", func(w *world) {
			q := &fold.ResolveApproval{Seq: a.Seq}
			q.Status, q.By = parley.ApprovalApproved, "b"
			x.decide(w, 0, -1, fold.Command{Do: q, From: "b"})
		}},
		move{labelOver, false, "the time of the approval is over", func(w *world) {
			x.decide(w, 0, -1, fold.Command{Do: &fold.Tick{}, From: parley.HubID, Now: a.ExpiresAt})
		}})
}

// readApproval holds the events of approvals against the facts.
func (w *world) readApproval(sys *parley.System) {
	f := &w.facts
	if asks := sys.Kind == parley.KindApprovalRequested; asks == f.pending {
		w.violate("an approval is asked for twice, or resolved twice")
	} else {
		f.pending = asks
	}
	if sys.Kind == parley.KindApprovalRequested && (!f.claimed || f.claim.String() != sys.ClaimHash) {
		w.violate("an approval is asked for under a claim that is not current")
	}
}
