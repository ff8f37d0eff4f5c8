package hub_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

// TestOmittedTurn: a message without a turn continues the open one and begins none (T5), and a turn
// that a client computed ahead is refused (T6).
func TestOmittedTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		id := asked(t, h, nil)
		r := connect(t, h, h.LocalPrincipal("a"))
		for range 3 {
			if got := say(t, h, r.p, message(id, "on", parley.FinalityNone, "")); got.Turn != 1 {
				t.Fatalf("%+v", got)
			}
		}
		ahead := message(id, "on", parley.FinalityNone, "")
		ahead.Turn = 2
		refusedMessage(t, h, r.p, ahead, parley.ErrTurnConflict)
		_, err := claimTurn(h, r.p, parley.ClaimTurnParams{ConversationID: id, Turn: 2})
		refused(t, err, parley.ErrTurnConflict)
		if got := say(t, h, r.p, message(id, "done", parley.FinalityTurn, "")); got.Turn != 1 {
			t.Fatalf("%+v", got)
		}
	})
}

// TestTraceOpensATurn: a turn that holds only a trace is open and its author's, in guidance too (T7).
func TestTraceOpensATurn(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		id := create(t, h, h.LocalPrincipal("a"), &parley.CreateConversationParams{
			Participants: seatsOf(parley.KindAgent, "a", "b"), Policy: &parley.Policy{Kind: parley.PolicyOpen},
		})
		a := connect(t, h, h.LocalPrincipal("a"))
		got, err := one(func(done func(parley.SendResult, error)) { h.SendTrace(a.p, trace(id, "thinks", ""), done) })
		if err != nil || got.ClaimID == "" {
			t.Fatalf("%+v, %v", got, err)
		}
		for who, want := range map[string]parley.Guidance{
			"a": {Kind: parley.MaySpeak, Action: parley.ContinueTurn}, "b": {Kind: parley.Wait},
		} {
			g, err := h.GetGuidance(t.Context(), h.LocalPrincipal(who), &parley.GetGuidanceParams{ConversationID: id})
			if err != nil || g.Guidance.Kind != want.Kind || g.Guidance.Action != want.Action || g.Guidance.Speaker != "a" ||
				g.Guidance.Claim == nil {
				t.Fatalf("%s: %+v, %v", who, g, err)
			}
		}
		refusedMessage(t, h, h.LocalPrincipal("b"), message(id, "me", parley.FinalityTurn, ""), parley.ErrNotYourTurn)
	})
}

// TestDeadlinesAreDurations: the log and the limits have durations; times of day are additional
// (T8).
func TestDeadlinesAreDurations(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		pass(time.Hour)
		id := asked(t, h, &parley.Limits{TurnTimeoutMs: 7000})
		r := connect(t, h, h.LocalPrincipal("a"))
		c := r.pull(id, 1)
		if c.DurationMs != 7000 || c.DeadlineMs != h.Now().UnixMilli()+7000 {
			t.Fatalf("%+v", c)
		}
		log := events(t, j, id)
		sys, err := log[1].System()
		if err != nil || sys.DurationMs != 7000 || sys.GraceMs != limits.DefaultGraceMs {
			t.Fatalf("%s, %v", log[1].Raw(), err)
		}
		pass(4 * time.Second)
		k, err := renew(h, r.p, id, c.ClaimID)
		if err != nil || k.DurationMs != 7000 || k.DeadlineMs != h.Now().UnixMilli()+7000 {
			t.Fatalf("%+v, %v", k, err)
		}
	})
}

// TestReplicasShareOneTurn: a claim is one executor's and not its agent's; who works on a turn shows it; and when it expires another is asked (T16).
func TestReplicasShareOneTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r1, r2 := push(t, h, "r1", "a"), push(t, h, "r2", "a")
		id := asked(t, h, &parley.Limits{ClaimWindowMs: 100})
		pass(100 * time.Millisecond)
		o1, o2 := r1.oneOffer(), r2.oneOffer()
		r1.take(id, o1.ClaimID)
		_, err := claimTurn(h, r2.p, parley.ClaimTurnParams{ConversationID: id, ClaimID: o2.ClaimID})
		refused(t, err, parley.ErrClaimLost)
		_, err = claimTurn(h, r2.p, parley.ClaimTurnParams{ConversationID: id, Turn: 1})
		refused(t, err, parley.ErrClaimLost)
		refusedMessage(t, h, r2.p, message(id, "me too", parley.FinalityTurn, ""), parley.ErrClaimRequired)
		pass(time.Minute + 250*time.Millisecond)
		if c := r2.claim(); c.Attempt != 2 {
			t.Fatalf("%+v", c)
		}
		wantTurns(t, j, id, "claimed(r1 1)", "claim_ended(expired)", "claimed(r2 2)")
	})
}

// TestIdleIsOfWords: claims, their renewals and ends, and repeated offers do not count as activity
// (T17).
func TestIdleIsOfWords(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		id := asked(t, h, &parley.Limits{IdleTimeoutMs: 30_000, TurnTimeoutMs: 2000, MaxAttempts: 1})
		r := connect(t, h, h.LocalPrincipal("a"))
		c := r.pull(id, 1)
		for range 9 {
			pass(1500 * time.Millisecond)
			if _, err := renew(h, r.p, id, c.ClaimID); err != nil {
				t.Fatal(err)
			}
		}
		pass(30*time.Second - 9*1500*time.Millisecond - time.Millisecond)
		if closed := h.Counted().ConversationsOpen == 0; closed {
			t.Fatalf("closed too early: %v", turnEvents(t, j, id))
		}
		pass(time.Millisecond)
		closedAs(t, j, id, parley.OutcomeCanceled, parley.ReasonIdleTimeout)
	})
}

// TestClaimsAreNoSpeech: events of claims change neither the next speaker nor the seq that is
// compared with afterSeq (T18).
func TestClaimsAreNoSpeech(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		id := create(t, h, h.LocalPrincipal("b"), &parley.CreateConversationParams{
			Participants: append(seatsOf(parley.KindAgent, "a", "c"), parley.Participant{ID: "b", Kind: parley.KindHuman}),
		})
		a, c := connect(t, h, h.LocalPrincipal("a")), connect(t, h, h.LocalPrincipal("c"))
		last := say(t, h, a.p, message(id, "one", parley.FinalityTurn, ""))
		for range 2 {
			if err := release(h, c.p, id, c.pull(id, 2).ClaimID, parley.ReleaseDecline); err != nil {
				t.Fatal(err)
			}
		}
		q := message(id, "two", parley.FinalityTurn, "")
		q.AfterSeq = &last.Seq // there is no message since
		c.pull(id, 2)
		say(t, h, c.p, q)
		g, err := h.GetGuidance(t.Context(), h.LocalPrincipal("b"), &parley.GetGuidanceParams{ConversationID: id})
		if err != nil || g.Guidance.Speaker != "b" {
			t.Fatalf("%+v, %v", g, err)
		}
	})
}

// TestNobodyAnswersItself: under open an agent is not asked to answer its own words, and two of them stop at a number of turns (T31).
func TestNobodyAnswersItself(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		id := create(t, h, h.LocalPrincipal("a"), &parley.CreateConversationParams{
			Participants: seatsOf(parley.KindAgent, "a",
				"c"), Policy: &parley.Policy{Kind: parley.PolicyOpen}, Limits: &parley.Limits{MaxAutonomousTurns: 7},
		})
		say(t, h, h.LocalPrincipal("a"), message(id, "hello", parley.FinalityTurn, ""))
		a, c := push(t, h, "r1", "a"), push(t, h, "r2", "c")
		for i := range 6 {
			now, other := c, a
			if i%2 == 1 {
				now, other = a, c
			}
			other.noOffer()
			x := now.claim()
			say(t, h, now.p, under(message(id, "and you?", parley.FinalityTurn, ""), x.ClaimID))
		}
		closedAs(t, j, id, parley.OutcomeCanceled, parley.ReasonMaxAutonomousTurns)
		a.noOffer()
		c.noOffer()
	})
}

// TestKnobsAreOfTheirConversation: limits and policy are each conversation's own, and metadata that looks like them does nothing (T47).
func TestKnobsAreOfTheirConversation(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r := connect(t, h, h.LocalPrincipal("a"))
		begin := func(l *parley.Limits, metadata string) string {
			id := create(t, h, h.LocalPrincipal("b"), &parley.CreateConversationParams{
				Participants: []parley.Participant{{ID: "a", Kind: parley.KindAgent}, {ID: "b", Kind: parley.KindHuman}}, Limits: l,
				Metadata: json.RawMessage(metadata),
			})
			r.pull(id, 1)
			return id
		}
		short := begin(&parley.Limits{TurnTimeoutMs: 1000}, "")
		long := begin(&parley.Limits{TurnTimeoutMs: 5000}, "")
		dead := begin(nil, `{"turnTimeoutMs":1000,"limits":{"turnTimeoutMs":1000},"policy":{"kind":"open"}}`)
		pass(time.Second)
		wantTurns(t, j, short, "claimed( 1)", "claim_ended(expired)")
		wantTurns(t, j, long, "claimed( 1)")
		pass(4 * time.Second)
		wantTurns(t, j, long, "claimed( 1)", "claim_ended(expired)")
		wantTurns(t, j, dead, "claimed( 1)")
	})
}
