package llm_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// TestRefund: money is paid only after an approval, and only as approved.
func TestRefund(t *testing.T) {
	h := sdktest.NewHub(t)
	serve(t, h, mustLoad(t, "refund", nil))
	nora := approver(t, h)
	for _, c := range []struct {
		name   string
		answer *parley.ResolveApprovalParams
		want   string
		runs   int
	}{
		{"approved", &parley.ResolveApprovalParams{Decision: parley.DecisionApproved},
			"120.5 euros were paid for A-17. The reference is R-A-17-120.50.", 1},
		{"approved of less", &parley.ResolveApprovalParams{Decision: parley.DecisionApproved,
			Answer: json.RawMessage(`{"order":"A-17","amount":80}`)},
			"80 euros were paid for A-17. The reference is R-A-17-80.00.", 1},
		{"rejected", &parley.ResolveApprovalParams{Decision: parley.DecisionRejected, Comment: "The parcel was delivered."},
			"Nothing was paid for A-17: issue-refund was not run: nora has rejected it: The parcel was delivered.", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := session(t, nora, "refund-desk", `{"order":"A-17","amount":120.50,"reason":"It never came."}`)
			a := pending(t, nora, id)
			var details struct {
				Tool         string
				Arguments    struct{ Amount json.Number }
				InjectedArgs map[string]string `json:"injected_args"`
			}
			if err := json.Unmarshal(a.Details, &details); err != nil {
				t.Fatal(err)
			}
			if details.Tool != "issue-refund" || details.Arguments.Amount != "120.50" ||
				details.InjectedArgs["why"] != "It never came." || !a.MayAnswer {
				t.Errorf("the question is %+v", a)
			}
			if n := len(below(t, nora, id)); n != 0 {
				t.Errorf("it was paid %d times before anybody has approved", n)
			}
			c.answer.ApprovalID = a.ApprovalID
			if _, err := nora.ResolveApproval(t.Context(), c.answer); err != nil {
				t.Fatal(err)
			}
			if got := result(t, ended(t, nora, id)); got != c.want {
				t.Errorf("%s: expected %s", got, c.want)
			}
			if n := len(below(t, nora, id)); n != c.runs {
				t.Errorf("it was paid %d times: expected %d", n, c.runs)
			}
		})
	}
}

// TestRefundTimesOut: without an answer, nothing is paid.
func TestRefundTimesOut(t *testing.T) {
	h := sdktest.NewHub(t)
	serve(t, h, mustLoad(t, "refund", func(c *parley.AgentConfig) { c.HITLTimeoutMs = 300 }))
	ann := h.Client(t, "ann")
	id := session(t, ann, "refund-desk", `{"order":"A-17","amount":120,"reason":"It never came."}`)
	if got, want := result(t, ended(t, ann, id)),
		"Nothing was paid for A-17: no one approved in time. Please ask again."; got != want {
		t.Errorf("%s: expected %s", got, want)
	}
	if n := len(below(t, ann, id)); n != 0 {
		t.Errorf("it was paid %d times", n)
	}
}

// TestRefundSeat: where it is asked in a conversation, without parameters, it says how a refund is
// asked for.
func TestRefundSeat(t *testing.T) {
	h := sdktest.NewHub(t)
	desk, hands := h.InProcess(t, "refund-desk"), mustLoad(t, "refund", nil)
	serve(t, h, hands)
	start(t, func(ctx context.Context) error {
		return executors.Internal(desk, hands.agents["refund-desk"], nil).Run(ctx)
	})
	ann := h.Client(t, "ann")
	s, err := ann.CreateConversation(t.Context(), &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman}, {ID: "refund-desk", Kind: parley.KindAgent}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ann.SendMessage(t.Context(), &parley.SendMessageParams{
		ConversationID: s.ConversationID, Payload: json.RawMessage(`{"text":"My order never came."}`),
		Finality: parley.FinalityTurn,
	}); err != nil {
		t.Fatal(err)
	}
	for e, err := range ann.Events(t.Context(), s.ConversationID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if sys, err := e.System(); err == nil && sys.Kind == parley.KindTurnReoffered {
			t.Fatalf("the turn has failed: %+v", sys)
		}
		if m, err := e.Message(); err == nil && e.From == "refund-desk" && e.Type == parley.TypeMessage {
			if !strings.Contains(m.Text, "parley start refund-desk") {
				t.Errorf("it said %q", m.Text)
			}
			return
		}
	}
}

// approver is a client that may approve.
func approver(t *testing.T, h *sdktest.Hub) parley.Client {
	t.Helper()
	return h.Dial(t, &sdk.Options{Token: h.NewToken(t, "nora", append(slices.Clone(parley.DefaultScopes),
		parley.ScopeApprove)...)})
}

// pending waits for the approval of a session.
func pending(t *testing.T, c parley.Client, id string) *parley.Approval {
	t.Helper()
	for e, err := range c.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if s, err := e.System(); err != nil || s.Kind != parley.KindApprovalRequested {
			continue
		}
		all, err := c.ListApprovals(t.Context(), &parley.ListApprovalsParams{ConversationID: id})
		if err != nil || len(all.Approvals) != 1 {
			t.Fatalf("the approvals are %+v, %v", all, err)
		}
		return &all.Approvals[0]
	}
	t.Fatal("the session has ended without a question")
	return nil
}
