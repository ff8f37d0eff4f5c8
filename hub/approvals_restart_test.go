package hub_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
)

// restarted is a hub that crashes and is started again, a minute later.
type restarted struct {
	t *testing.T
	h *hub.Hub
	j journal.Journal
	r *host

	id, claim string
	crash     func() journal.Journal
}

func (w *restarted) restart() {
	w.t.Helper()
	w.j = w.crash()
	time.Sleep(time.Minute) // in the bubble
	w.h = startOn(w.t, w.j, counted("y"))
	w.r = &host{id: "r1"}
	w.r.runner = &runner{t: w.t, h: w.h}
	w.r.conn = w.h.Connect(w.r.notify, func() {})
	w.r.p = w.h.LocalPrincipal("a").On(w.r.conn)
}

// back registers the executor again, which continues its claim if that is current.
func (w *restarted) back(holds int) {
	w.t.Helper()
	got := w.r.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}, Mode: parley.ModePush,
		Holding: []string{w.claim}})
	if len(got.Holding) != holds {
		w.t.Fatalf("%+v", got)
	}
	synctest.Wait()
}

// TestApprovalRestart: whatever state an approval is in, a restart changes nothing but the time.
func TestApprovalRestart(t *testing.T) {
	l := &parley.Limits{TurnTimeoutMs: 10_000}
	for name, test := range map[string]func(t *testing.T, w *restarted){
		"pending, and its holder comes back": func(t *testing.T, w *restarted) {
			a := asks(t, w.h, w.r.p, may(w.id, "k"))
			w.restart()
			w.back(1)
			if got := w.r.waits(); len(got) != 1 || !got[0].Waiting {
				t.Fatalf("%+v", got)
			}
			pass(2 * time.Minute)
			if got := asks(t, w.h, w.r.p, may(w.id, "k")); !got.Duplicate || got.Status != parley.ApprovalPending ||
				got.ExpiresAt != a.ExpiresAt {
				t.Fatalf("%+v", got)
			}
			answers(t, w.h, approver(w.h, "b"), a.ApprovalID, parley.DecisionApproved)
			pass(9999 * time.Millisecond)
			say(t, w.h, w.r.p, message(w.id, "done", parley.FinalityTurn, ""))
			wantTurns(t, w.j, w.id, "claimed(r1 1)", "approval_requested", "approval_details", "approval_resolved", "a:turn")
		},
		"pending, and its holder does not": func(t *testing.T, w *restarted) {
			a := asks(t, w.h, w.r.p, may(w.id, "k"))
			w.restart()
			pass(5 * time.Second)
			wantTurns(t, w.j, w.id, "claimed(r1 1)", "approval_requested", "approval_details", "claim_ended(disconnected)")
			w.back(0)
			pass(time.Minute)
			w.r.noOffer()
			answers(t, w.h, approver(w.h, "b"), a.ApprovalID, parley.DecisionApproved)
			pass(250 * time.Millisecond)
			w.r.claim()
		},
		"pending without a claim": func(t *testing.T, w *restarted) {
			a := asks(t, w.h, w.r.p, may(w.id, "k"))
			if err := release(w.h, w.r.p, w.id, w.claim, parley.ReleaseFailed); err != nil {
				t.Fatal(err)
			}
			w.restart()
			w.back(0)
			pass(time.Minute)
			w.r.noOffer()
			approvalIs(t, w.h, approver(w.h, "b"), a.ApprovalID, parley.ApprovalPending)
			answers(t, w.h, approver(w.h, "b"), a.ApprovalID, parley.DecisionRejected)
			pass(250 * time.Millisecond)
			w.r.claim()
			if got := asks(t, w.h, w.r.p, may(w.id, "k")); !got.Duplicate || got.Status != parley.ApprovalRejected {
				t.Fatalf("%+v", got)
			}
		},
		"resolved and not picked up": func(t *testing.T, w *restarted) {
			a := asks(t, w.h, w.r.p, may(w.id, "k"))
			q := &parley.ResolveApprovalParams{ApprovalID: a.ApprovalID, Decision: parley.DecisionApproved,
				ClientRequestID: "r", Comment: "go"}
			if _, err := w.h.ResolveApproval(t.Context(), approver(w.h, "b"), q); err != nil {
				t.Fatal(err)
			}
			w.restart()
			w.back(1)
			if got := w.r.waits(); len(got) != 0 {
				t.Fatalf("%+v", got)
			}
			if got := asks(t, w.h, w.r.p, may(w.id, "k")); !got.Duplicate || got.Status != parley.ApprovalApproved ||
				got.By != "b" || got.Comment != "go" {
				t.Fatalf("%+v", got)
			}
			if got, err := w.h.ResolveApproval(t.Context(), approver(w.h, "b"), q); err != nil || !got.Duplicate {
				t.Fatalf("%+v, %v", got, err)
			}
			_, err := resolve(t, w.h, approver(w.h, "b"), a.ApprovalID, parley.DecisionApproved)
			refused(t, err, parley.ErrAlreadyResolved)
		},
		"asked for in the hub's process": func(t *testing.T, w *restarted) {
			id := asked(t, w.h, l)
			inside := w.h.Client(w.h.LocalPrincipal("a"))
			if _, err := inside.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: id, Turn: 1}); err != nil {
				t.Fatal(err)
			}
			q := may(id, "k")
			a, err := inside.RequestApproval(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			w.restart()
			synctest.Wait()
			wantTurns(t, w.j, id, "claimed( 1)", "approval_requested", "approval_details", "claim_ended(restarted)")
			inside = w.h.Client(w.h.LocalPrincipal("a"))
			_, err = inside.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: id, Turn: 1})
			refused(t, err, parley.ErrNotYourTurn)
			answers(t, w.h, approver(w.h, "b"), a.ApprovalID, parley.DecisionApproved)
			c, err := inside.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: id, Turn: 1})
			if err != nil || c.Attempt != 1 {
				t.Fatalf("%+v, %v", c, err)
			}
			q.ClaimID = c.ClaimID
			if got, err := inside.RequestApproval(t.Context(), q); err != nil || !got.Duplicate ||
				got.Status != parley.ApprovalApproved {
				t.Fatalf("%+v, %v", got, err)
			}
		},
		"over while the hub was down": func(t *testing.T, w *restarted) {
			q := may(w.id, "k")
			q.ExpiresInMs = 30_000
			a := asks(t, w.h, w.r.p, q)
			w.restart()
			synctest.Wait() // no call uses the conversation
			wantTurns(t, w.j, w.id, "claimed(r1 1)", "approval_requested", "approval_details", "approval_resolved")
			if got := approvalIs(t, w.h, approver(w.h, "b"), a.ApprovalID,
				parley.ApprovalTimedOut); got.ResolvedAt != a.ExpiresAt+30_000 {
				t.Fatalf("%+v", got)
			}
			w.back(1)
		},
		"over after the start": func(t *testing.T, w *restarted) {
			q := may(w.id, "k")
			q.ExpiresInMs = 70_000
			a := asks(t, w.h, w.r.p, q)
			w.restart()
			pass(9999 * time.Millisecond)
			approvalIs(t, w.h, approver(w.h, "b"), a.ApprovalID, parley.ApprovalPending)
			pass(time.Millisecond)
			if got := approvalIs(t, w.h, approver(w.h, "b"), a.ApprovalID,
				parley.ApprovalTimedOut); got.ResolvedAt != a.ExpiresAt {
				t.Fatalf("%+v", got)
			}
		},
	} {
		for _, on := range []string{"memory", "bolt"} {
			t.Run(name+" "+on, func(t *testing.T) {
				if on == "bolt" {
					restartOnBolt(t, l, test)
					return
				}
				synctest.Test(t, func(t *testing.T) {
					j := newJournal(t)
					w := begins(t, j, l)
					w.crash = func() journal.Journal {
						j = crash(t, j)
						return j
					}
					test(t, w)
				})
			})
		}
	}
}

// restartOnBolt is for a hub that is closed and opens its files again.
func restartOnBolt(t *testing.T, l *parley.Limits, test func(t *testing.T, w *restarted)) {
	dir := filepath.Join(t.TempDir(), "data")
	synctest.Test(t, func(t *testing.T) {
		j, err := bolt.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			checkLog(t, j)
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		})
		w := begins(t, j, l)
		w.crash = func() journal.Journal {
			if err := w.h.Close(); err != nil {
				t.Fatal(err)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			if j, err = bolt.Open(dir, nil); err != nil {
				t.Fatal(err)
			}
			return j
		}
		test(t, w)
	})
}

// begins is a hub with a conversation whose agent is at work.
func begins(t *testing.T, j journal.Journal, l *parley.Limits) *restarted {
	t.Helper()
	w := &restarted{t: t, j: j, h: startOn(t, j, counted("x"))}
	w.r = attends(t, w.h)
	w.id = asked(t, w.h, l)
	w.claim = w.r.claim().ClaimID
	return w
}
