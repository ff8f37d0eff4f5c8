package hub_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// TestOfferWindow: the window adds a candidate and withdraws nothing; the first claim gets the
// turn.
func TestOfferWindow(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r1, r2 := push(t, h, "r1", "a"), push(t, h, "r2", "a")
		id := asked(t, h, &parley.Limits{ClaimWindowMs: 2000})
		synctest.Wait()
		first, second := r1, r2
		if len(r1.offers) == 0 {
			first, second = r2, r1
		}
		o := first.oneOffer()
		if o.AgentID != "a" || o.Agent != "a" || o.Turn != 1 || o.Attempt != 1 || o.ClaimWindowMs != 2000 ||
			o.DeadlineMs != h.Now().UnixMilli()+60_000 {
			t.Fatalf("%+v", o)
		}
		second.noOffer()
		pass(1999 * time.Millisecond)
		second.noOffer()
		pass(time.Millisecond)
		late := second.oneOffer()
		pass(time.Second)
		c := first.take(id, o.ClaimID)
		if c.Turn != 1 || c.Attempt != 1 || c.AgentID != "a" || c.DurationMs != 60_000 || c.MaxClaimMs != 600_000 || c.Duplicate {
			t.Fatalf("%+v", c)
		}
		_, err := claimTurn(h, second.p, parley.ClaimTurnParams{ConversationID: id, ClaimID: late.ClaimID})
		refused(t, err, parley.ErrClaimLost)
		if again := first.take(id, o.ClaimID); !again.Duplicate || again.ClaimID != o.ClaimID {
			t.Fatalf("the same claimTurn again: %+v", again)
		}
		pass(30 * time.Second)
		first.noOffer()
		second.noOffer()
		say(t, h, first.p, message(id, "done", parley.FinalityTurn, ""))
		if len(turnEvents(t, j, id)) != 2 {
			t.Fatalf("%v", turnEvents(t, j, id))
		}
	})
}

// TestClaimExpires: a claim ends at its deadline, its messages are withdrawn, its holder is
// notified, and another executor is asked after a pause.
func TestClaimExpires(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r1 := push(t, h, "r1", "a")
		id := asked(t, h, &parley.Limits{TurnTimeoutMs: 10_000, MaxAttempts: 2})
		c := r1.claim()
		say(t, h, r1.p, message(id, "half", parley.FinalityNone, ""))
		r2 := push(t, h, "r2", "a")
		pass(9999 * time.Millisecond)
		wantTurns(t, j, id, "claimed(r1 1)", "a:none")
		pass(time.Millisecond)
		wantTurns(t, j, id, "claimed(r1 1)", "a:none", "claim_ended(expired)")
		if ends := r1.ended(); len(ends) != 1 || ends[0].Reason != parley.ClaimExpired || ends[0].ClaimID != c.ClaimID {
			t.Fatalf("%+v", ends)
		}
		refusedMessage(t, h, r1.p, message(id, "late", parley.FinalityTurn, ""), parley.ErrClaimLost)
		refusedMessage(t, h, r1.p, under(message(id, "late", parley.FinalityTurn, ""), c.ClaimID), parley.ErrClaimLost)
		_, err := renew(h, r1.p, id, c.ClaimID)
		refused(t, err, parley.ErrClaimLost)
		r2.noOffer()
		pass(250 * time.Millisecond)
		r1.noOffer() // it has lost one: the other is asked first
		if again := r2.claim(); again.Attempt != 2 || again.ClaimID == c.ClaimID {
			t.Fatalf("%+v", again)
		}
		say(t, h, r2.p, message(id, "done", parley.FinalityTurn, ""))
		u, _, err := h.GetUpdates(t.Context(), h.LocalPrincipal("b"), &parley.GetUpdatesParams{ConversationID: id})
		if err != nil || len(u.Withdrawn) != 1 || u.Withdrawn[0] != (parley.Withdrawn{Turn: 1, FromSeq: 3, ToSeq: 3}) {
			t.Fatalf("%+v, %v", u, err)
		}
	})
}

// TestRenewal: before half of its time it costs no event, and it never goes beyond maxClaimMs.
func TestRenewal(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r := push(t, h, "r1", "a")
		id := asked(t, h, &parley.Limits{TurnTimeoutMs: 10_000, MaxClaimMs: 25_000})
		c := r.claim()
		keep := func(durationMs int64) {
			t.Helper()
			got, err := renew(h, r.p, id, c.ClaimID)
			if err != nil || got.DurationMs != durationMs || got.DeadlineMs != h.Now().UnixMilli()+durationMs {
				t.Fatalf("%+v, %v; want %d ms", got, err, durationMs)
			}
		}
		pass(5000 * time.Millisecond)
		keep(5000) // at half: no event
		wantTurns(t, j, id, "claimed(r1 1)")
		pass(time.Millisecond)
		keep(10_000)
		keep(10_000)
		wantTurns(t, j, id, "claimed(r1 1)", "claim_renewed")
		pass(9999 * time.Millisecond)
		keep(10_000) // at 15 s, of 25
		pass(9 * time.Second)
		keep(1000)
		wantTurns(t, j, id, "claimed(r1 1)", "claim_renewed", "claim_renewed")
		pass(999 * time.Millisecond)
		keep(1)
		pass(time.Millisecond)
		_, err := renew(h, r.p, id, c.ClaimID)
		refused(t, err, parley.ErrClaimLost)
		wantTurns(t, j, id, "claimed(r1 1)", "claim_renewed", "claim_renewed", "claim_ended(expired)")
	})
}

// TestGrace: a claim whose connection was lost ends after its grace, and not when the holder is back in time (T46: a lock not freed on disconnect).
func TestGrace(t *testing.T) {
	a := parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}, Mode: parley.ModePush, GraceMs: 3000}
	for name, back := range map[string]func(t *testing.T, h *hub.Hub, id, claim string) bool{
		"not": func(*testing.T, *hub.Hub, string, string) bool { return false },
		"registered with holding": func(t *testing.T, h *hub.Hub, id, claim string) bool {
			r := connect(t, h, h.LocalPrincipal("a"))
			q := a
			q.Holding = []string{claim, "clm_1_unknown", ""}
			if got := r.mustRegister(q); len(got.Holding) != 1 || got.Holding[0] != claim || got.Ended != 0 {
				t.Fatalf("%+v", got)
			}
			return true
		},
		"shown on a socket that is not registered": func(t *testing.T, h *hub.Hub, id, claim string) bool {
			r := connect(t, h, h.LocalPrincipal("a"))
			say(t, h, r.p, under(message(id, "here", parley.FinalityNone, ""), claim))
			return true
		},
		"renewed on a socket that is not registered": func(t *testing.T, h *hub.Hub, id, claim string) bool {
			r := connect(t, h, h.LocalPrincipal("a"))
			if _, err := renew(h, r.p, id, claim); err != nil {
				t.Fatal(err)
			}
			return true
		},
		"renewed without a connection": func(t *testing.T, h *hub.Hub, id, claim string) bool {
			if _, err := renew(h, h.LocalPrincipal("a"), id, claim); err != nil {
				t.Fatal(err)
			}
			return false // there is no holder
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
				r := connect(t, h, h.LocalPrincipal("a"))
				r.mustRegister(a)
				id := asked(t, h, nil)
				c := r.claim()
				r.conn.Close()
				pass(2999 * time.Millisecond)
				if n := len(turnEvents(t, j, id)); n != 1 {
					t.Fatalf("the claim ended before its grace: %v", turnEvents(t, j, id))
				}
				stays := back(t, h, id, c.ClaimID)
				pass(time.Millisecond)
				ends := h.Counted().ClaimsEnded
				if stays == (ends[parley.ClaimDisconnected] == 1) {
					t.Fatalf("ended: %v", ends)
				}
				pass(10 * time.Second)
				if stays != (h.Counted().Claims == 1) {
					t.Fatalf("%v", turnEvents(t, j, id))
				}
			})
		})
	}
}

// TestLostWhileUnderWay: a connection that ends while a call of its is under way does not hold the claim for it.
func TestLostWhileUnderWay(t *testing.T) {
	for _, name := range []string{"message", "claim", "auto"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJournal(t)
				h := startOn(t, j, nil)
				t.Cleanup(j.Release)
				r := push(t, h, "r1", "a")
				id := asked(t, h, nil)
				o := r.oneOffer()
				answered := make(chan error, 1)
				switch name {
				case "message":
					r.take(id, o.ClaimID)
					j.Hold()
					h.SendMessage(r.p, under(message(id, "here", parley.FinalityNone, ""), o.ClaimID),
						func(_ parley.SendResult, err error) { answered <- err })
				case "claim":
					j.Hold()
					h.ClaimTurn(r.p, &parley.ClaimTurnParams{ConversationID: id, ClaimID: o.ClaimID},
						func(_ parley.ClaimTurnResult, err error) { answered <- err })
				case "auto":
					j.Hold()
					h.SendMessage(r.p, message(id, "here", parley.FinalityNone, ""),
						func(_ parley.SendResult, err error) { answered <- err })
				}
				r.conn.Close()
				j.Release()
				if err := <-answered; err != nil {
					t.Fatal(err)
				}
				pass(6 * time.Second)
				if n := h.Counted(); n.ClaimsEnded[parley.ClaimDisconnected] != 1 {
					t.Fatalf("%v: %+v", turnEvents(t, j, id), n.ClaimsEnded)
				}
			})
		})
	}
}

// TestLostAppendTakesNoClaim: an append that was not written takes no claim, and the next one takes
// the turn.
func TestLostAppendTakesNoClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, nil)
		r := push(t, h, "r1", "a")
		id := asked(t, h, nil)
		o := r.oneOffer()
		j.FailNext(journal.ErrStorageFull)
		_, err := claimTurn(h, r.p, parley.ClaimTurnParams{ConversationID: id, ClaimID: o.ClaimID})
		refused(t, err, parley.ErrStorageFull)
		if n := h.Counted(); n.Claims != 0 || n.ClaimsTaken != 0 {
			t.Fatalf("%+v", n)
		}
		j.FailNext(journal.ErrStorageFull)
		refusedMessage(t, h, r.p, message(id, "x", parley.FinalityNone, "k"), parley.ErrStorageFull)
		c := r.take(id, o.ClaimID)
		j.FailNext(journal.ErrStorageFull)
		refusedMessage(t, h, r.p, message(id, "x", parley.FinalityNone, "k"), parley.ErrStorageFull)
		if got := say(t, h, r.p, message(id, "x", parley.FinalityNone, "k")); got.Duplicate || got.ClaimID != "" &&
			got.ClaimID != c.ClaimID {
			t.Fatalf("%+v", got)
		}
		wantTurns(t, j, id, "claimed(r1 1)", "a:none")
	})
}

// TestRefusedMessageTakesNoClaim: an unfinished message that is refused for itself has not taken the claim that it would have been said under.
func TestRefusedMessageTakesNoClaim(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		id := asked(t, h, nil)
		a := connect(t, h, h.LocalPrincipal("a"))
		refusedMessage(t, h, a.p, message(id, strings.Repeat("x", parley.MaxEventBytes), parley.FinalityNone, ""), parley.ErrTooLarge)
		wantTurns(t, j, id)
		if n := h.Counted(); n.Claims != 0 || n.ClaimsTaken != 0 {
			t.Fatalf("%+v", n)
		}
		push(t, h, "r2", "a").claim()
	})
}
