package sdk_test

import (
	"context"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// resolved is a getApproval or resolveApproval under way.
type resolved struct {
	approval *parley.Approval
	err      error
}

func awaitLater(ctx context.Context, c parley.Client, id string) <-chan resolved {
	answer := make(chan resolved, 1)
	go func() {
		a, err := c.GetApproval(ctx, &parley.GetApprovalParams{ApprovalID: id, TimeoutMs: 60_000})
		answer <- resolved{a, err}
	}()
	return answer
}

// question creates a conversation of an agent and a human, ann. The agent requests an approval over
// a separate connection.
func question(t *testing.T, h *sdktest.Hub, agent parley.Client) *parley.Approval {
	t.Helper()
	s, err := agent.CreateConversation(t.Context(), &parley.CreateConversationParams{
		Participants: []parley.Participant{
			{ID: agent.AgentID(), Kind: parley.KindAgent},
			{ID: "ann", Kind: parley.KindHuman},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	claim, err := agent.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: s.ConversationID, Turn: 1})
	if err != nil {
		t.Fatal(err)
	}
	asked, err := agent.RequestApproval(
		t.Context(),
		&parley.RequestApprovalParams{ConversationID: s.ConversationID, ClaimID: claim.ClaimID, Key: "k", Title: "May I?"},
	)
	if err != nil {
		t.Fatal(err)
	}
	return asked
}

// TestApprovalOverLostConnections: a wait for an approval survives cut connections and a killed
// hub. An answer whose reply was lost is recorded once, and its repetition is a duplicate.
func TestApprovalOverLostConnections(t *testing.T) {
	for name, disturb := range map[string]func(t *testing.T, h *sdktest.Hub){
		"cut":     func(_ *testing.T, h *sdktest.Hub) { h.CutConnections() },
		"restart": func(t *testing.T, h *sdktest.Hub) { h.Restart(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := sdktest.NewHub(t)
			p := newProxy(t, h.URL)
			bot := dial(t, h.URL, eager(h.NewToken(t, "bot")))
			ann := dial(t, p.url, eager(h.NewToken(t, "ann", parley.ScopeRead, parley.ScopeApprove)))
			asked := question(t, h, bot)
			waits := awaitLater(t.Context(), bot, asked.ApprovalID)
			for range 3 {
				if _, err := bot.Now(t.Context()); err != nil { // it is back
					t.Fatal(err)
				}
				disturb(t, h)
			}
			if _, err := ann.Now(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.muteHub() // requests arrive, and answers are lost
			done := h.Journal().Watch()
			go func() { <-done; p.cut() }()
			answered, err := ann.ResolveApproval(
				t.Context(),
				&parley.ResolveApprovalParams{ApprovalID: asked.ApprovalID, Decision: parley.DecisionRejected, Comment: "no"},
			)
			if err != nil || answered.Status != parley.ApprovalRejected || !answered.Duplicate {
				t.Errorf("an answer whose reply was lost: %+v, %v", answered, err)
			}
			if got := <-waits; got.err != nil || got.approval.Status != parley.ApprovalRejected || got.approval.By != "ann" ||
				got.approval.TimedOut {
				t.Errorf("%+v, %v", got.approval, got.err)
			}
		})
	}
}

// TestSharedExecutorKeepsItsApprovals: an executor requests an approval as the participant of its
// claim. It continues to wait as that participant after its connection or the hub was lost.
func TestSharedExecutorKeepsItsApprovals(t *testing.T) {
	for name, disturb := range map[string]func(t *testing.T, h *sdktest.Hub){
		"cut":     func(_ *testing.T, h *sdktest.Hub) { h.CutConnections() },
		"restart": func(t *testing.T, h *sdktest.Hub) { h.Restart(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := sdktest.NewHub(t)
			c, conversation, claim := shared(t, h)
			p := parley.RequestApprovalParams{ConversationID: conversation, ClaimID: claim, Key: "k", Title: "May I?"}
			asked, err := c.RequestApproval(t.Context(), &p)
			if err != nil || asked.AgentID != "helper" {
				t.Fatalf("%+v, %v", asked, err)
			}
			waits := awaitLater(t.Context(), c, asked.ApprovalID)
			for range 5 {
				disturb(t, h)
				if again, err := c.RequestApproval(t.Context(), &p); err != nil || !again.Duplicate ||
					again.ApprovalID != asked.ApprovalID {
					t.Fatalf("again: %+v, %v", again, err)
				}
				if got, err := c.GetApproval(t.Context(), &parley.GetApprovalParams{ApprovalID: asked.ApprovalID}); err != nil ||
					got.Status != parley.ApprovalPending {
					t.Fatalf("read: %+v, %v", got, err)
				}
			}
			ann := h.Dial(t, eager(h.NewToken(t, "ann", parley.ScopeRead, parley.ScopeApprove)))
			if _, err := ann.ResolveApproval(t.Context(), &parley.ResolveApprovalParams{ApprovalID: asked.ApprovalID, Decision: parley.DecisionApproved}); err != nil {
				t.Fatal(err)
			}
			if got := <-waits; got.err != nil || got.approval.Status != parley.ApprovalApproved {
				t.Errorf("%+v, %v", got.approval, got.err)
			}
			if _, err := c.RenewClaim(t.Context(), &parley.RenewClaimParams{ConversationID: conversation, ClaimID: claim}); err != nil {
				t.Errorf("the claim: %v", err)
			}
		})
	}
}

// TestManyApprovalsOfOneClient: a client waits for more approvals than its first socket has slots,
// under a claim that this socket holds. Other calls are not delayed.
func TestManyApprovalsOfOneClient(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	c, conversation, claim := shared(t, h)
	asked, err := c.RequestApproval(
		t.Context(),
		&parley.RequestApprovalParams{ConversationID: conversation, ClaimID: claim, Key: "k", Title: "May I?"},
	)
	if err != nil {
		t.Fatal(err)
	}
	var waits [60]<-chan resolved
	for i := range waits {
		waits[i] = awaitLater(t.Context(), c, asked.ApprovalID)
	}
	begin := time.Now()
	for range 10 {
		if _, err := c.RenewClaim(t.Context(), &parley.RenewClaimParams{ConversationID: conversation, ClaimID: claim}); err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(begin); took >= parley.MaxWaitMs*time.Millisecond { // it waited for one of the waits
		t.Errorf("the claim was renewed after %v", took)
	}
	ann := h.Dial(t, eager(h.NewToken(t, "ann", parley.ScopeRead, parley.ScopeApprove)))
	if _, err := ann.ResolveApproval(t.Context(), &parley.ResolveApprovalParams{ApprovalID: asked.ApprovalID, Decision: parley.DecisionApproved}); err != nil {
		t.Fatal(err)
	}
	for i, wait := range waits {
		if got := <-wait; got.err != nil || got.approval.Status != parley.ApprovalApproved {
			t.Errorf("wait %d: %+v, %v", i, got.approval, got.err)
		}
	}
}

// TestApprove: a turn asks and waits in one call, and its next attempt has the answer at once.
func TestApprove(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	c, conversation, claim := shared(t, h)
	turn := &parley.Turn{ConversationID: conversation, AgentID: "helper", Number: 1, ClaimID: claim, Client: c}
	ann := h.Dial(t, eager(h.NewToken(t, "ann", parley.ScopeRead, parley.ScopeApprove)))
	ask := &parley.RequestApprovalParams{Key: "k", Title: "May I?", AnswerSchema: []byte(`{"type":"integer"}`)}
	go func() {
		for t.Context().Err() == nil {
			l, err := ann.ListApprovals(t.Context(), nil)
			if err != nil || len(l.Approvals) == 0 {
				continue
			}
			_, err = ann.ResolveApproval(
				t.Context(),
				&parley.ResolveApprovalParams{
					ApprovalID: l.Approvals[0].ApprovalID,
					Decision:   parley.DecisionApproved,
					Answer:     []byte(`7`),
				},
			)
			if err != nil {
				t.Error(err)
			}
			return
		}
	}()
	for attempt, duplicate := range []bool{false, true} {
		got, err := turn.Approve(t.Context(), ask)
		if err != nil || got.Status != parley.ApprovalApproved || string(got.Answer) != "7" || got.Duplicate != duplicate ||
			ask.ConversationID != "" {
			t.Errorf("attempt %d: %+v, %v", attempt+1, got, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, err := turn.Approve(ctx, &parley.RequestApprovalParams{Key: "other", Title: "And this?"}); got != nil ||
		ctx.Err() == nil ||
		err == nil {
		t.Errorf("when ctx ends: %+v, %v", got, err)
	}
}
