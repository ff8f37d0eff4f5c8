package hub_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// resolutions returns the ends of approvals in a log.
func resolutions(t testing.TB, j journal.Journal, id string) []parley.ApprovalStatus {
	t.Helper()
	var all []parley.ApprovalStatus
	for _, e := range events(t, j, id) {
		if e.Type != parley.TypeSystem {
			continue
		}
		sys, err := e.System()
		if err != nil {
			t.Fatal(err)
		}
		if sys.Kind == parley.KindApprovalResolved {
			all = append(all, sys.Approval.Status)
		}
	}
	return all
}

// TestApprovalTwoAnswers: of concurrent answers one is accepted, and all callers see it.
func TestApprovalTwoAnswers(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, counted("x"))
	id := create(t, h, h.LocalPrincipal("b"), &parley.CreateConversationParams{
		Participants: append(seatsOf(parley.KindAgent, "a"), seatsOf(parley.KindHuman, "b", "c", "d", "e")...),
	})
	r := connect(t, h, h.LocalPrincipal("a"))
	r.pull(id, 1)
	for round := range 50 {
		a := asks(t, h, r.p, may(id, fmt.Sprint(round)))
		var wg sync.WaitGroup
		var mu sync.Mutex
		var won []parley.Approval
		for i, who := range []string{"b", "c", "d", "e"} {
			wg.Go(func() {
				d := []parley.ApprovalDecision{parley.DecisionApproved, parley.DecisionRejected}[(i+round)%2]
				got, err := h.ResolveApproval(t.Context(), approver(h, who),
					&parley.ResolveApprovalParams{ApprovalID: a.ApprovalID, Decision: d, ClientRequestID: "k"})
				if err != nil && !errors.Is(err, parley.ErrAlreadyResolved) {
					t.Error(err)
				}
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					if got.By != who || string(got.Status) != string(d) || got.Duplicate {
						t.Errorf("%s has %s, and is told %+v", who, d, got)
					}
					won = append(won, *got)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Fatalf("%d have answered", len(won))
		}
		if got := approval(t, h, r.p, a.ApprovalID); got.Status != won[0].Status || got.By != won[0].By {
			t.Fatalf("%+v, and the answer was %+v", got, won[0])
		}
	}
	if n := len(resolutions(t, j, id)); n != 50 {
		t.Fatalf("%d ends of 50 approvals", n)
	}
}

// TestApprovalAnswerAtTheEnd: an answer at the time limit is accepted, or refused because the time
// is over; never both.
func TestApprovalAnswerAtTheEnd(t *testing.T) {
	for _, before := range []time.Duration{-time.Millisecond, 0, time.Millisecond} {
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			atWork(t, nil, func(t *testing.T, h *hub.Hub, j journal.Journal, r *host, id, claim string) {
				b := approver(h, "b")
				var all []parley.ApprovalStatus
				for i := range 20 {
					q := may(id, fmt.Sprint(i))
					q.ExpiresInMs = 1000
					a := asks(t, h, r.p, q)
					answered := make(chan error, 1)
					go func() {
						time.Sleep(time.Second - before)
						_, err := resolve(t, h, b, a.ApprovalID, parley.DecisionApproved)
						answered <- err
					}()
					err := <-answered
					synctest.Wait()
					want := parley.ApprovalApproved
					if err != nil {
						refused(t, err, parley.ErrAlreadyResolved)
						want = parley.ApprovalTimedOut
					}
					if approvalIs(t, h, b, a.ApprovalID, want); (before > 0) != (err == nil) {
						t.Fatalf("%s before the end: %v", before, err)
					}
					all = append(all, want)
				}
				if got := resolutions(t, j, id); !slices.Equal(got, all) {
					t.Fatalf("the log has %v, want %v", got, all)
				}
			})
		})
	}
}

// TestApprovalOverAndNotWritten: an answer to an approval that is over comes after its end, also where that could not be written when it was time.
func TestApprovalOverAndNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		w := begins(t, j, nil)
		q := may(w.id, "k")
		q.ExpiresInMs = 1000
		a := asks(t, w.h, w.r.p, q)
		j.FailNext(journal.ErrStorageFull)
		pass(time.Second)
		approvalIs(t, w.h, approver(w.h, "b"), a.ApprovalID, parley.ApprovalPending)
		_, err := resolve(t, w.h, approver(w.h, "b"), a.ApprovalID, parley.DecisionApproved)
		refused(t, err, parley.ErrAlreadyResolved)
		approvalIs(t, w.h, approver(w.h, "b"), a.ApprovalID, parley.ApprovalTimedOut)

		q = may(w.id, "k2")
		q.ExpiresInMs = 1000
		a = asks(t, w.h, w.r.p, q)
		j.FailNext(journal.ErrStorageFull)
		pass(time.Second)
		approvalIs(t, w.h, approver(w.h, "b"), a.ApprovalID, parley.ApprovalPending)
		pass(time.Second) // then it is tried again
		approvalIs(t, w.h, approver(w.h, "b"), a.ApprovalID, parley.ApprovalTimedOut)
	})
}

// TestApprovalNotWritten: what could not be written was neither asked nor answered.
func TestApprovalNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		w := begins(t, j, nil)
		j.FailNext(journal.ErrStorageFull)
		_, err := w.h.RequestApproval(t.Context(), w.r.p, may(w.id, "k"))
		refused(t, err, parley.ErrStorageFull)
		list, err := w.h.ListApprovals(t.Context(), approver(w.h, "b"), &parley.ListApprovalsParams{})
		if err != nil || len(list.Approvals) != 0 {
			t.Fatalf("%+v, %v", list, err)
		}
		a := asks(t, w.h, w.r.p, may(w.id, "k"))
		if a.Duplicate {
			t.Fatalf("%+v", a)
		}
		j.FailNext(journal.ErrStorageFull)
		_, err = resolve(t, w.h, approver(w.h, "b"), a.ApprovalID, parley.DecisionApproved)
		refused(t, err, parley.ErrStorageFull)
		approvalIs(t, w.h, w.r.p, a.ApprovalID, parley.ApprovalPending)
		answers(t, w.h, approver(w.h, "b"), a.ApprovalID, parley.DecisionRejected)
	})
}
