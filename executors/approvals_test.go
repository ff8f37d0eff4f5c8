package executors_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/internal/limits"
)

// asksFirst requests an approval in turn 1, posts its result, and closes the conversation.
func asksFirst(ask parley.RequestApprovalParams, then parley.AgentFunc) parley.AgentFunc {
	return func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		if n, err := turn.Messages(ctx); err != nil || len(n) > 0 { // the turn is for another message
			_, err := turn.Post(ctx, parley.Message{Text: "soon"}, parley.FinalityTurn)
			return parley.TurnComplete, err
		}
		a, err := turn.Approve(ctx, &ask)
		if err != nil {
			return "", errors.Join(err, context.Cause(ctx))
		}
		if then != nil {
			return then(ctx, turn)
		}
		_, err = turn.Complete(ctx, parley.Message{Text: string(a.Status)}, parley.Outcome{Status: parley.OutcomeCompleted})
		return parley.TurnComplete, err
	}
}

// seats are an agent, a, and a person, ann.
func seats(l parley.Limits) *parley.CreateConversationParams {
	p := limited(l, "a")
	p.Participants = append(p.Participants, parley.Participant{ID: "ann", Kind: parley.KindHuman})
	return p
}

// resolve resolves the pending approval of ann.
func (w *world) resolve(d parley.ApprovalDecision) {
	w.Helper()
	ann := w.client("ann", parley.ScopeRead, parley.ScopeApprove)
	l, err := ann.ListApprovals(w.Context(), nil)
	if err != nil || len(l.Approvals) != 1 {
		w.Fatalf("%+v, %v", l, err)
	}
	if _, err := ann.ResolveApproval(w.Context(),
		&parley.ResolveApprovalParams{ApprovalID: l.Approvals[0].ApprovalID, Decision: d}); err != nil {
		w.Fatal(err)
	}
}

// The work of an agent that waits for an approval does not end at maxClaimMs. The time for the work
// after it does.
func TestApprovalOutlastsTheClaim(t *testing.T) {
	lim := parley.Limits{TurnTimeoutMs: 1000, MaxClaimMs: 5000}
	inWorld(t, func(w *world) {
		id := w.create(seats(lim))
		r := w.run(w.client("a"),
			asksFirst(parley.RequestApprovalParams{Key: "k", Title: "May I?", ExpiresInMs: limits.MaxApprovalMs}, nil), nil)
		w.await(id, kind(parley.KindApprovalRequested))
		time.Sleep(30*time.Minute + 300*time.Millisecond)
		w.resolve(parley.DecisionApproved)
		w.closed(id)
		w.stopped(r)
		if got := w.texts(id); !slices.Equal(got, []string{"approved"}) || w.count(id, "1 ended") > 0 {
			w.Errorf("said %q in\n%s", got, strings.Join(w.log(id), "\n"))
		}
	})
	inWorld(t, func(w *world) {
		lim.OnTurnTimeout, lim.MaxAttempts = parley.TurnClose, 1
		id := w.create(seats(lim))
		why := make(chan error, 1)
		r := w.run(w.client("a"), asksFirst(parley.RequestApprovalParams{Key: "k", Title: "May I?"}, untilEnd(why)), nil)
		w.await(id, kind(parley.KindApprovalRequested))
		time.Sleep(time.Minute)
		w.resolve(parley.DecisionRejected)
		start := time.Now()
		w.closed(id)
		w.stopped(r)
		if err := <-why; !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, parley.ErrClaimLost) {
			w.Errorf("the agent's ctx has ended with %v", err)
		}
		if took := time.Since(start); took > 6*time.Second {
			w.Errorf("after the answer the agent had %v", took)
		}
	})
}

// TurnTimeout includes the wait for an approval.
func TestTurnTimeoutCountsApprovals(t *testing.T) {
	inWorld(t, func(w *world) {
		id := w.create(seats(parley.Limits{TurnTimeoutMs: 1000, OnTurnTimeout: parley.TurnClose, MaxAttempts: 1}))
		start := time.Now()
		r := w.run(w.client("a"), asksFirst(parley.RequestApprovalParams{Key: "k", Title: "May I?"}, nil),
			&executors.Options{TurnTimeout: 20 * time.Second})
		w.await(id, kind(parley.KindClaimEnded))
		if took := time.Since(start); took < 20*time.Second || took > 23*time.Second {
			w.Errorf("it had %v", took)
		}
		w.stopped(r)
	})
}

// A turn that waits for an approval frees its capacity, and continues after the decision.
func TestApprovalFreesCapacity(t *testing.T) {
	inWorld(t, func(w *world) {
		id := w.create(seats(parley.Limits{}))
		r := w.run(w.client("a"), asksFirst(parley.RequestApprovalParams{Key: "k", Title: "May I?"}, nil),
			&executors.Options{Capacity: 1})
		w.await(id, kind(parley.KindApprovalRequested))
		p := agents("b", "a")
		p.Limits = &parley.Limits{MaxTurns: 2}
		other := w.create(p)
		if _, err := w.client("b").SendMessage(w.Context(),
			&parley.SendMessageParams{ConversationID: other, Payload: []byte(`{"text":"quick"}`),
				Finality: parley.FinalityTurn}); err != nil {
			w.Fatal(err)
		}
		start := time.Now()
		w.closed(other)
		if took := time.Since(start); took > time.Second {
			w.Errorf("the other turn has waited for %v", took)
		}
		w.resolve(parley.DecisionRejected)
		w.closed(id)
		w.stopped(r)
		if got := w.texts(id); !slices.Equal(got, []string{"rejected"}) {
			w.Errorf("said %q", got)
		}
	})
}
