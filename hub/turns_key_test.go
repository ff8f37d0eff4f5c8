package hub_test

import (
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/journal"
)

// TestKeysOfAttempts: a key is one attempt's when the call names the claim; without it, a key of withdrawn words is free again. The same holds after
// lost appends and a restart.
func TestKeysOfAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		r := connect(t, h, h.LocalPrincipal("a"))
		id := asked(t, h, nil)
		first := r.pull(id, 1)
		one1 := say(t, h, r.p, under(message(id, "half", parley.FinalityNone, "k"), first.ClaimID))
		for _, claim := range []string{"", first.ClaimID} {
			if got := say(t, h, r.p, under(message(id, "half", parley.FinalityNone, "k"), claim)); !got.Duplicate || got.Seq != one1.Seq {
				t.Fatalf("%+v", got)
			}
			refusedMessage(t, h, r.p, under(message(id, "other", parley.FinalityNone, "k"), claim),
				parley.ErrIdempotencyConflict)
		}
		if err := release(h, r.p, id, first.ClaimID, parley.ReleaseFailed); err != nil {
			t.Fatal(err)
		}
		// The retry of the ended attempt is answered with its result, although its messages are
		// withdrawn.
		if got := say(t, h, r.p, under(message(id, "half", parley.FinalityNone, "k"), first.ClaimID)); !got.Duplicate ||
			got.Seq != one1.Seq || got.ClaimID != "" {
			t.Fatalf("%+v", got)
		}
		second := r.pull(id, 1)
		j.FailNext(journal.ErrStorageFull)
		refusedMessage(t, h, r.p, under(message(id, "half", parley.FinalityNone, "k"), second.ClaimID), parley.ErrStorageFull)
		two := say(t, h, r.p, message(id, "half", parley.FinalityNone, "k")) // the connection implies the claim
		if two.Duplicate || two.Seq == one1.Seq {
			t.Fatalf("%+v", two)
		}
		check := func(name string) {
			t.Helper()
			for claim, seq := range map[string]int64{"": two.Seq, first.ClaimID: one1.Seq, second.ClaimID: two.Seq} {
				if got := say(t, h, h.LocalPrincipal("a"), under(message(id, "half", parley.FinalityNone, "k"),
					claim)); !got.Duplicate || got.Seq != seq {
					t.Errorf("%s: with claim %q: %+v, want seq %d", name, claim, got, seq)
				}
			}
		}
		check("as said")
		j.FailNext(journal.ErrStorageFull)
		refusedMessage(t, h, r.p, under(message(id, "lost", parley.FinalityNone, "l"), second.ClaimID), parley.ErrStorageFull)
		check("after a lost append")
		last := say(t, h, r.p, under(message(id, "done", parley.FinalityTurn, "k2"), second.ClaimID))
		check("after the turn")
		next := crash(t, j)
		h = startOn(t, next, counted("y"))
		check("after a crash")
		if got := say(t, h, h.LocalPrincipal("a"), under(message(id, "done", parley.FinalityTurn, "k2"),
			second.ClaimID)); !got.Duplicate || got.Seq != last.Seq {
			t.Fatalf("%+v", got)
		}
	})
}

// TestRepeatedAutoClaim: the retry of the message that took the claim returns its id again while
// the claim is current.
func TestRepeatedAutoClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		a := h.LocalPrincipal("a") // plain HTTP
		id := asked(t, h, nil)
		first := say(t, h, a, message(id, "half", parley.FinalityNone, "k"))
		again := say(t, h, a, message(id, "half", parley.FinalityNone, "k"))
		if first.ClaimID == "" || again.ClaimID != first.ClaimID || !again.Duplicate || again.Seq != first.Seq {
			t.Fatalf("%+v, again %+v", first, again)
		}
		refusedMessage(t, h, a, message(id, "more", parley.FinalityNone, ""), parley.ErrClaimRequired)
		say(t, h, a, under(message(id, "done", parley.FinalityTurn, ""), first.ClaimID))
		if got := say(t, h, a, message(id, "half", parley.FinalityNone, "k")); got.ClaimID != "" || !got.Duplicate {
			t.Fatalf("%+v", got)
		}
		wantTurns(t, j, id, "claimed( 1)", "a:none", "a:turn")
	})
}

// TestUnknownOutcomeOfAClaim: whether or not the message that takes the claim was written, its retry finds one claim and one message.
func TestUnknownOutcomeOfAClaim(t *testing.T) {
	for _, written := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			j := newJournal(t)
			h := startOn(t, j, counted("x"))
			id := asked(t, h, nil)
			if written {
				j.LoseNext()
			} else {
				j.FailNext(journal.ErrOutcomeUnknown)
			}
			refusedMessage(t, h, h.LocalPrincipal("a"), message(id, "half", parley.FinalityNone, "k"), parley.ErrOutcomeUnknown)
			next := crash(t, j)
			h = startOn(t, next, counted("y"))
			got := say(t, h, h.LocalPrincipal("a"), message(id, "half", parley.FinalityNone, "k"))
			if got.Duplicate != written || (got.ClaimID == "") != written {
				t.Fatalf("written %t: %+v", written, got)
			}
			wantTurns(t, next, id, "claimed( 1)", "a:none")
		})
	}
}

// TestKeysOfNotesOutliveWithdrawal: a note does not belong to the attempt during which it was
// written. Its key stays used when the attempt is withdrawn.
func TestKeysOfNotesOutliveWithdrawal(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		id := asked(t, h, nil)
		r, b := connect(t, h, h.LocalPrincipal("a")), h.LocalPrincipal("b")
		c := r.pull(id, 1)
		say(t, h, r.p, message(id, "half", parley.FinalityNone, ""))
		annotate := func() parley.SeqResult {
			t.Helper()
			got, err := one(func(done func(parley.SeqResult, error)) { h.SendNote(b, note(id, "n", "k"), done) })
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		first := annotate()
		if err := release(h, r.p, id, c.ClaimID, parley.ReleaseFailed); err != nil {
			t.Fatal(err)
		}
		if again := annotate(); !again.Duplicate || again.Seq != first.Seq {
			t.Fatalf("first %+v, again %+v", first, again)
		}
		wantTurns(t, j, id, "claimed( 1)", "a:none", "note", "claim_ended(failed)")
	})
}

// TestKeyTwiceUnderWay: two messages with one key are under way, each behind the withdrawal of the
// previous one, and neither is written. The key then refers to the message in the log.
func TestKeyTwiceUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		o := counted("x")
		last, next := "", o.NewID
		o.NewID = func(kind string) string { last = next(kind); return last }
		h := startOn(t, j, o)
		t.Cleanup(j.Release)
		id, a := asked(t, h, nil), h.LocalPrincipal("a")
		r := connect(t, h, a)
		claim := r.pull(id, 1).ClaimID
		half := func() *parley.SendMessageParams { return message(id, "half", parley.FinalityNone, "k") }
		written := say(t, h, r.p, half())
		j.Hold()
		j.FailNext(journal.ErrStorageFull)
		answers := make(chan error, 2)
		withdraw := func(claim string) {
			q := &parley.ReleaseClaimParams{ConversationID: id, ClaimID: claim, Outcome: parley.ReleaseFailed}
			h.ReleaseClaim(a, q, func(_ parley.EmptyResult, err error) { answers <- err })
			synctest.Wait()
		}
		withdraw(claim)
		second := post(h, a, half())
		synctest.Wait()
		withdraw(eventdata.ClaimID(1, last))
		third := post(h, a, half())
		synctest.Wait()
		j.Release()
		refused(t, <-answers, parley.ErrStorageFull)
		refused(t, <-answers, parley.ErrClaimLost)
		for _, retry := range []<-chan sent{second, third, post(h, r.p, half())} {
			if got := <-retry; got.err != nil || !got.Duplicate || got.Seq != written.Seq {
				t.Errorf("%+v, want the duplicate of %d", got, written.Seq)
			}
		}
		wantTurns(t, j, id, "claimed( 1)", "a:none")
	})
}
