package hub_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// approver is a local caller that may answer approvals.
func approver(h *hub.Hub, id string) *hub.Principal {
	return h.LocalPrincipal(id, append([]parley.Scope{parley.ScopeApprove}, parley.DefaultScopes...)...)
}

// may is what an agent asks for under the claim of its connection.
func may(id, key string) *parley.RequestApprovalParams {
	return &parley.RequestApprovalParams{ConversationID: id, Key: key, Title: "Delete " + key + "?", Details: json.RawMessage(`{"tool":"delete","secret":"s3"}`)}
}

// asks asks for an approval and fails the test when that is refused.
func asks(t testing.TB, h *hub.Hub, p *hub.Principal, q *parley.RequestApprovalParams) *parley.Approval {
	t.Helper()
	a, err := h.RequestApproval(t.Context(), p, q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// resolve answers an approval.
func resolve(t testing.TB, h *hub.Hub, p *hub.Principal, id string, d parley.ApprovalDecision) (*parley.Approval, error) {
	t.Helper()
	return h.ResolveApproval(t.Context(), p, &parley.ResolveApprovalParams{ApprovalID: id, Decision: d})
}

// answers is resolve that fails the test when it is refused.
func answers(t testing.TB, h *hub.Hub, p *hub.Principal, id string, d parley.ApprovalDecision) *parley.Approval {
	t.Helper()
	a, err := resolve(t, h, p, id, d)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// approval returns an approval.
func approval(t testing.TB, h *hub.Hub, p *hub.Principal, id string) *parley.Approval {
	t.Helper()
	a, err := h.GetApproval(t.Context(), p, &parley.GetApprovalParams{ApprovalID: id})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// approvalIs fails the test unless an approval has this state.
func approvalIs(t testing.TB, h *hub.Hub, p *hub.Principal, id string, want parley.ApprovalStatus) *parley.Approval {
	t.Helper()
	a := approval(t, h, p, id)
	if a.Status != want {
		t.Fatalf("approval %s is %s, want %s", id, a.Status, want)
	}
	return a
}

// atWork is a hub with a conversation of the agent a, whose turn is claimed by the executor r, and the human b.
func atWork(t *testing.T, l *parley.Limits, test func(t *testing.T, h *hub.Hub, j journal.Journal, r *host, id, claim string)) {
	t.Helper()
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r := attends(t, h)
		id := asked(t, h, l)
		test(t, h, j, r, id, r.claim().ClaimID)
	})
}

// attends connects an executor of the agent a with room for one turn. It has the usual grace.
func attends(t testing.TB, h *hub.Hub) *host {
	t.Helper()
	x := &host{id: "r1"}
	x.runner = &runner{t: t, h: h}
	x.conn = h.Connect(x.notify, func() {})
	x.p = h.LocalPrincipal("a").On(x.conn)
	x.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}, Mode: parley.ModePush, Capacity: 1})
	synctest.Wait()
	return x
}

// sameApproval fails the test unless an approval is as wanted.
func sameApproval(t testing.TB, got *parley.Approval, want parley.Approval) {
	t.Helper()
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Fatalf("approval (-want +got):\n%s", diff)
	}
}
