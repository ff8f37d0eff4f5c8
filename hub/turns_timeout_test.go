package hub_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// TestReoffer: a turn that no executor claims is offered again at doubled intervals, but not if no
// offer was possible.
func TestReoffer(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		silent := asked(t, h, &parley.Limits{TurnTimeoutMs: 10_000}) // there is no executor to ask
		pass(10 * time.Hour)
		wantTurns(t, j, silent)
		r := push(t, h, "r1", "a")
		id := asked(t, h, &parley.Limits{TurnTimeoutMs: 10_000, MaxAttempts: 1})
		o := r.offered()
		last := o[len(o)-1]
		if err := release(h, r.p, id, r.take(id, last.ClaimID).ClaimID, parley.ReleaseSilent); err != nil {
			t.Fatal(err)
		}
		start := h.Now()
		var at []time.Duration
		for len(at) < 3 && h.Now().Sub(start) < time.Hour {
			seen := len(events(t, j, id))
			pass(time.Second)
			if now := len(events(t, j, id)); now > seen {
				at = append(at, h.Now().Sub(start))
			}
		}
		if fmt.Sprint(at) != fmt.Sprint([]time.Duration{10 * time.Second, 30 * time.Second, 70 * time.Second}) {
			t.Fatalf("offered anew at %v", at)
		}
		wantTurns(t, j, id, "claimed(r1 1)", "claim_ended(silent)", "turn_reoffered", "turn_reoffered", "turn_reoffered")
		o = r.offered()
		if last = o[len(o)-1]; last.ConversationID == silent {
			last = o[len(o)-2]
		}
		if c := r.take(id, last.ClaimID); c.Attempt != 1 {
			t.Fatalf("%+v", c)
		}
	})
}

// TestTurnTimeout: skip and close, for agents by default, for people and peers where the limit was given.
func TestTurnTimeout(t *testing.T) {
	for _, kind := range []parley.ParticipantKind{parley.KindAgent, parley.KindTool, parley.KindHuman, parley.KindPeer} {
		for _, given := range []bool{false, true} {
			for _, at := range []parley.TurnTimeout{parley.TurnSkip, parley.TurnClose} {
				t.Run(fmt.Sprint(kind, given, at), func(t *testing.T) {
					inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
						limits := &parley.Limits{OnTurnTimeout: at}
						after := time.Minute
						if given {
							limits.TurnTimeoutMs, after = 5000, 5*time.Second
						}
						id := create(t, h, h.LocalPrincipal("x"), &parley.CreateConversationParams{
							Participants: []parley.Participant{{ID: "x", Kind: kind}, {ID: "y", Kind: parley.KindHuman}}, Limits: limits,
						})
						pass(after - time.Millisecond)
						wantTurns(t, j, id)
						pass(time.Millisecond)
						switch runs := given || kind.Claims(); {
						case !runs:
							pass(time.Hour)
							wantTurns(t, j, id)
						case at == parley.TurnSkip:
							wantTurns(t, j, id, "turn_ended(skipped)")
						default:
							closedAs(t, j, id, parley.OutcomeFailed, parley.ReasonTurnTimeout)
						}
					})
				})
			}
		}
	}
}

// TestAllPass: when all were skipped no one is asked, and anyone may speak. maxTurns counts skipped
// turns.
func TestAllPass(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r := push(t, h, "r1", "a")
		limits := &parley.Limits{OnTurnTimeout: parley.TurnSkip, TurnTimeoutMs: 5000}
		id := asked(t, h, limits)
		pass(time.Hour)
		wantTurns(t, j, id, "turn_ended(skipped)", "turn_ended(skipped)")
		r.offered()
		say(t, h, h.LocalPrincipal("b"), message(id, "hello", parley.FinalityTurn, ""))
		if c := r.claim(); c.Turn != 4 {
			t.Fatalf("%+v", c)
		}
		r.conn.Close()
		limits.MaxTurns = 2
		id = asked(t, h, limits)
		pass(time.Hour)
		closedAs(t, j, id, parley.OutcomeCanceled, parley.ReasonMaxTurns)
	})
}

// TestAttempts: when the attempts are used up the turn is skipped or closed at once.
func TestAttempts(t *testing.T) {
	for at, want := range map[parley.TurnTimeout]string{
		parley.TurnSkip: "turn_ended(skipped)", parley.TurnClose: "hub:conversation",
	} {
		t.Run(string(at), func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
				r := push(t, h, "r1", "a")
				id := asked(t, h, &parley.Limits{OnTurnTimeout: at, MaxAttempts: 2})
				for i, o := range []parley.ReleaseOutcome{parley.ReleaseDecline, parley.ReleaseFailed} {
					if i > 0 {
						r.noOffer() // after a pause
						pass(250 * time.Millisecond)
					}
					if err := release(h, r.p, id, r.claim().ClaimID, o); err != nil {
						t.Fatal(err)
					}
				}
				wantTurns(t, j, id, "claimed(r1 1)", "claim_ended(declined)", "claimed(r1 2)", "claim_ended(failed)", want)
				if at == parley.TurnClose {
					closedAs(t, j, id, parley.OutcomeFailed, parley.ReasonAttempts)
				}
				pass(time.Hour)
				r.noOffer()
			})
		})
	}
}

// TestBackoff: after each failed attempt there is a pause, twice as long each time, up to 5 s.
func TestBackoff(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r := push(t, h, "r1", "a")
		id := asked(t, h, &parley.Limits{MaxAttempts: 10, ClaimWindowMs: 60_000})
		for attempt := 1; attempt <= 9; attempt++ {
			if err := release(h, r.p, id, r.claim().ClaimID, parley.ReleaseDecline); err != nil {
				t.Fatal(err)
			}
			most := min(250*time.Millisecond<<(attempt-1), 5*time.Second)
			pass(most/2 - time.Millisecond)
			r.noOffer()
			pass(most - most/2 + time.Millisecond)
		}
	})
}

// TestAutonomous: after a number of turns without a human, the human has the floor. Without a human
// the conversation is closed.
func TestAutonomous(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		three := append(seatsOf(parley.KindAgent, "a", "c"), parley.Participant{ID: "b", Kind: parley.KindHuman})
		id := create(t, h, h.LocalPrincipal("b"), &parley.CreateConversationParams{
			Participants: three, Limits: &parley.Limits{MaxAutonomousTurns: 3, TurnTimeoutMs: 1000},
			Policy: &parley.Policy{Kind: parley.PolicyAddressed},
		})
		a, c := push(t, h, "r1", "a"), push(t, h, "r2", "c")
		for range 2 {
			for _, r := range []*runner{a, c, a} {
				x := r.claim()
				q := message(id, "on", parley.FinalityTurn, "")
				q.TurnHint = &parley.TurnHint{Next: map[*runner]string{a: "c", c: "a"}[r]}
				say(t, h, r.p, under(q, x.ClaimID))
			}
			a.noOffer()
			c.noOffer()
			q := message(id, "go on", parley.FinalityTurn, "")
			q.TurnHint = &parley.TurnHint{Next: "a"}
			say(t, h, h.LocalPrincipal("b"), q)
		}
		id = create(t, h, h.LocalPrincipal("a"), &parley.CreateConversationParams{
			Participants: seatsOf(parley.KindAgent, "a", "c"), Limits: &parley.Limits{MaxAutonomousTurns: 2},
		})
		say(t, h, h.LocalPrincipal("a"), message(id, "one", parley.FinalityTurn, ""))
		say(t, h, h.LocalPrincipal("c"), message(id, "two", parley.FinalityTurn, ""))
		closedAs(t, j, id, parley.OutcomeCanceled, parley.ReasonMaxAutonomousTurns)
	})
}

// TestStopWhen: what the conversation was to stop at closes it as completed, and ends nothing half said.
func TestStopWhen(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r := push(t, h, "r1", "a")
		id := asked(t, h, &parley.Limits{StopWhen: `last.from == "a" && last.text.contains("DONE")`})
		c := r.claim()
		say(t, h, r.p, message(id, "DONE soon", parley.FinalityNone, ""))
		say(t, h, r.p, message(id, "not yet", parley.FinalityTurn, ""))
		say(t, h, h.LocalPrincipal("b"), message(id, "DONE?", parley.FinalityTurn, ""))
		c = r.claim()
		say(t, h, r.p, under(message(id, "DONE", parley.FinalityTurn, ""), c.ClaimID))
		closedAs(t, j, id, parley.OutcomeCompleted, parley.ReasonStopWhen)
		if n := h.Counted(); n.Claims != 0 || n.ClaimsEnded[parley.ClaimFinal] != 2 || n.ConversationsOpen != 0 {
			t.Fatalf("%+v", n)
		}
	})
}
