package hub_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// TestForkOfAClaim: a claimed turn of the original is offered again in the fork, its messages are
// withdrawn there, and no attempt is counted. The claim in the original stays current.
func TestForkOfAClaim(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r := push(t, h, "r1", "a")
		id := asked(t, h, &parley.Limits{MaxAttempts: 1})
		c := r.claim()
		say(t, h, r.p, message(id, "half", parley.FinalityNone, "k"))
		r2 := push(t, h, "r2", "a")
		fork := forked(t, h, j, h.LocalPrincipal("b"), id, 3)
		wantTurns(t, j, fork, "claimed(r1 1)", "a:none", "conversation_forked", "claim_ended(restarted)")
		if ends := r.ended(); len(ends) != 0 {
			t.Fatalf("the holder is told %+v", ends)
		}
		u, _, err := h.GetUpdates(t.Context(), h.LocalPrincipal("b"), &parley.GetUpdatesParams{ConversationID: fork})
		if err != nil || len(u.Withdrawn) != 1 || u.Withdrawn[0] != (parley.Withdrawn{Turn: 1, FromSeq: 3, ToSeq: 4}) {
			t.Errorf("%+v, %v", u, err)
		}
		refusedMessage(t, h, r.p, under(message(fork, "mine", parley.FinalityTurn, ""), c.ClaimID), parley.ErrClaimLost)
		pass(time.Second)
		offers := append(r.offered(), r2.offered()...)
		if len(offers) == 0 || offers[0].ConversationID != fork || offers[0].Attempt != 1 || offers[0].Turn != 1 ||
			offers[0].ClaimID == c.ClaimID {
			t.Fatalf("%+v", offers)
		}
		if _, err := renew(h, r.p, id, c.ClaimID); err != nil {
			t.Error(err)
		}
		say(t, h, r.p, message(id, "done", parley.FinalityTurn, ""))
		say(t, h, r2.p, message(fork, "done otherwise", parley.FinalityTurn, "k"))
		// a fork of the fork at the event of the withdrawal, where the claim is still current
		again := forked(t, h, j, h.LocalPrincipal("b"), fork, 4)
		wantTurns(t, j, again, "claimed(r1 1)", "a:none", "conversation_forked", "conversation_forked",
			"claim_ended(restarted)")
	})
}

// TestForkOfAnOpenTurn: the open turn of a person continues in the fork.
func TestForkOfAnOpenTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		ann, bob := h.LocalPrincipal("ann"), h.LocalPrincipal("bob")
		id := create(t, h, ann, open2("ann", "bob"))
		say(t, h, bob, message(id, "well", parley.FinalityNone, ""))
		fork := forked(t, h, j, ann, id, 2)
		refusedMessage(t, h, ann, message(fork, "me", parley.FinalityTurn, ""), parley.ErrNotYourTurn)
		if r := say(t, h, bob, message(fork, "so", parley.FinalityTurn, "")); r.Turn != 1 || r.Seq != 4 {
			t.Errorf("%+v", r)
		}
	})
}

// TestForkOfAnApproval: the fork has no approvals, whether it begins before or after the answer,
// and the agent requests again. The approval in the original does not change.
func TestForkOfAnApproval(t *testing.T) {
	atWork(t, nil, func(t *testing.T, h *hub.Hub, j journal.Journal, r *host, id, _ string) {
		b := approver(h, "b")
		a := asks(t, h, r.p, may(id, "k"))
		fork := forked(t, h, j, b, id, 4)
		between := forked(t, h, j, b, id, 3) // before the details of what was asked
		list, err := h.ListApprovals(t.Context(), b, &parley.ListApprovalsParams{})
		if err != nil || len(list.Approvals) != 1 || list.Approvals[0].ApprovalID != a.ApprovalID {
			t.Fatalf("%+v, %v", list, err)
		}
		answers(t, h, b, a.ApprovalID, parley.DecisionApproved)
		after := forked(t, h, j, b, id, 5)
		say(t, h, r.p, message(id, "done", parley.FinalityTurn, ""))
		for _, c := range []string{fork, between, after} {
			for _, approval := range []string{c + ".3", c + ".4", c + ".5"} {
				_, err := h.GetApproval(t.Context(), b, &parley.GetApprovalParams{ApprovalID: approval})
				refused(t, err, parley.ErrNotFound)
			}
			wantGuidance(t, h, c, "a")
			pass(time.Second)
			for len(r.offered()) > 0 { // of this one or another: it has room for one
			}
			claim := r.pull(c, 1)
			again := asks(t, h, r.p, may(c, "k"))
			if again.ApprovalID == a.ApprovalID || again.Status != parley.ApprovalPending {
				t.Fatalf("%+v", again)
			}
			answers(t, h, b, again.ApprovalID, parley.DecisionApproved)
			say(t, h, r.p, under(message(c, "done", parley.FinalityTurn, ""), claim.ClaimID))
		}
		approvalIs(t, h, b, a.ApprovalID, parley.ApprovalApproved)
	})
}

// wantGuidance fails the test unless speaker has the floor.
func wantGuidance(t testing.TB, h *hub.Hub, id, speaker string) {
	t.Helper()
	if who, rule := floorOf(t, h, id); who != speaker {
		t.Fatalf("%s has the floor of %s by %s, want %s", who, id, rule, speaker)
	}
}

// TestForkOfSessions: sessions belong to the original. Their ends are reported there and not in the
// fork, which starts new sessions under the same key.
func TestForkOfSessions(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		a, hal := h.LocalPrincipal("a"), h.LocalPrincipal("hal")
		id := team(t, h, parley.PolicyRoundRobin)
		q := counts("count", 1, parley.ModeAsyncCallback, id)
		q.ClientRequestID = "k"
		s := start(t, h, a, q)
		running := forked(t, h, j, hal, id, 2)
		began := say(t, h, a, message(id, "while it runs", parley.FinalityNone, ""))
		x.works("forty-two")
		pass(0)
		ended := forked(t, h, j, hal, id, 5) // it was not reported: a's turn is open
		wantTurns(t, j, id, "session_started", "claimed( 1)", "a:none", "session_ended")
		q.ParentConversationID = running
		own := start(t, h, a, q)
		if own.SessionID == s.SessionID || own.Duplicate {
			t.Fatalf("%+v", own)
		}
		x.works("forty-three")
		say(t, h, a, under(message(id, "now", parley.FinalityTurn, ""), began.ClaimID))
		say(t, h, a, message(ended, "now", parley.FinalityTurn, ""))
		pass(time.Second)
		wantTurns(t, j, id, "session_started", "claimed( 1)", "a:none", "session_ended", "a:turn", "hub:turn")
		wantTurns(t, j, ended, "session_started", "claimed( 1)", "a:none", "session_ended", "conversation_forked",
			"claim_ended(restarted)", "a:turn")
		wantTurns(t, j, running, "session_started", "conversation_forked", "session_started", "session_ended", "hub:turn")
		told := forked(t, h, j, hal, id, 7)
		wantGuidance(t, h, told, "a") // the report is in the fork, and a has the floor because of it
		if got := callbacks(t, j, told); len(got) != 1 || got[0][0].ChildSessionID != s.SessionID {
			t.Errorf("%+v", got)
		}
		_, err := one(func(done func(parley.SeqResult, error)) {
			h.CloseConversation(hal, &parley.CloseConversationParams{ConversationID: running}, done)
		})
		if err != nil {
			t.Error(err)
		}
		quiet(t, h)
	})
}

// TestForkClosesNoSession: the close of a fork ends none of the other's sessions.
func TestForkClosesNoSession(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		a, hal := h.LocalPrincipal("a"), h.LocalPrincipal("hal")
		id := team(t, h, parley.PolicyRoundRobin)
		s := start(t, h, a, counts("count", 1, parley.ModeAsyncPoll, id))
		fork := forked(t, h, j, hal, id, 2)
		_, err := one(func(done func(parley.SeqResult, error)) {
			h.CloseConversation(hal, &parley.CloseConversationParams{ConversationID: fork}, done)
		})
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if got := session(t, h, a, s.SessionID); got.Status.Ended() {
			t.Fatalf("%+v", got)
		}
		x.works("forty-two")
		quiet(t, h)
	})
}

// TestForkWakes: copied events trigger no agent. A match that waits for a turn waits in the fork
// too. One that waits for a session, or whose session runs, belongs to the original.
func TestForkWakes(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := listeners(t, h, listens("calc", onSchema("s.v1")))
		ann := h.LocalPrincipal("ann")
		id := create(t, h, ann, hall("calc"))
		seq := noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
		o := x.oneOffer()
		logIs(t, j, id, seq, "note ann s.v1", "woken calc", "begun calc")
		var made []string
		for at := seq; at < seq+3; at++ {
			made = append(made, forked(t, h, j, ann, id, at))
		}
		pass(time.Second)
		for _, again := range x.offered() {
			if again.ConversationID != o.ConversationID {
				t.Errorf("%+v", again)
			}
		}
		for i, fork := range made {
			want := []string{"note ann s.v1", "woken calc", "begun calc"}[:i+1]
			logIs(t, j, fork, seq, append(want, parley.KindConversationForked)...)
		}
		x.take(o.ConversationID, o.ClaimID)
		x.ends(o.ConversationID, o.ClaimID, parley.OutcomeCompleted, ran("done"))
		synctest.Wait()
		for i, fork := range made {
			if got := storyOf(t, j, fork, 1); int64(len(got)) != seq+int64(i)+1 {
				t.Errorf("%v", got)
			}
		}
		if got := storyOf(t, j, id, 1); len(got) != 6 {
			t.Errorf("%v", got)
		}
		noting(t, h, ann, made[0], "s.v1", `{"input":{"n":2}}`) // the fork's own events do wake
		if own := x.oneOffer(); own.ConversationID == o.ConversationID {
			t.Errorf("%+v", own)
		}
	})
}

// TestForkOfAWokenTurn: a triggered agent has the floor in the fork too.
func TestForkOfAWokenTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := push(t, h, "r1", "bot")
		ann := h.LocalPrincipal("ann")
		q := hall()
		q.Participants = append(q.Participants, parley.Participant{ID: "bot", Kind: parley.KindAgent})
		id := create(t, h, ann, q)
		say(t, h, ann, message(id, "@bot go", parley.FinalityTurn, ""))
		synctest.Wait()
		last := int64(len(events(t, j, id)))
		who, _ := floorOf(t, h, id)
		fork := forked(t, h, j, ann, id, last)
		wantGuidance(t, h, fork, who)
		offers := x.offered()
		if who == "bot" && len(offers) != 2 {
			t.Errorf("%+v", offers)
		}
	})
}

// TestForkAfterRestart: a fork that was made before a restart is worked at after it, and the sessions of the other are not looked for in it.
func TestForkAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		r := push(t, h, "r1", "a")
		id := asked(t, h, nil)
		r.claim()
		fork := forked(t, h, j, h.LocalPrincipal("b"), id, 2)
		j = crash(t, j)
		h = startOn(t, j, counted("y"))
		r = push(t, h, "r2", "a")
		pass(time.Second)
		o := r.offered()
		if len(o) == 0 || o[0].ConversationID != fork {
			t.Fatalf("%+v", o)
		}
		r.take(fork, o[0].ClaimID)
		say(t, h, r.p, message(fork, "done", parley.FinalityTurn, ""))
		wantTurns(t, j, fork, "claimed(r1 1)", "conversation_forked", "claim_ended(restarted)", "claimed(r2 1)", "a:turn")
	})
}
