package hub_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// TestEveryEndIsCounted: a claim that its holder does not end is counted once, by the reason of its
// end.
func TestEveryEndIsCounted(t *testing.T) {
	for end, happens := range map[parley.ClaimEnd]func(t *testing.T, h *hub.Hub, r *runner, id string){
		parley.ClaimTurnEnded: func(t *testing.T, h *hub.Hub, _ *runner, id string) {
			if err := cancelTurn(h, h.LocalPrincipal("b"), id, 1); err != nil {
				t.Fatal(err)
			}
		},
		parley.ClaimExpired: func(*testing.T, *hub.Hub, *runner, string) { pass(10 * time.Second) },
		parley.ClaimDisconnected: func(_ *testing.T, _ *hub.Hub, r *runner, _ string) {
			r.conn.Close()
			pass(6 * time.Second)
		},
	} {
		t.Run(string(end), func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
				id := asked(t, h, &parley.Limits{TurnTimeoutMs: 10_000})
				r := connect(t, h, h.LocalPrincipal("a"))
				r.pull(id, 1)
				happens(t, h, r, id)
				wantEnds(t, h, end)
				if n := h.Counted(); n.ClaimsTaken != 1 || n.Claims != 0 {
					t.Errorf("%d claims taken, %d stand", n.ClaimsTaken, n.Claims)
				}
			})
		})
	}
}

func wantEnds(t *testing.T, h *hub.Hub, end parley.ClaimEnd) {
	t.Helper()
	if ends := h.Counted().ClaimsEnded; len(ends) != 1 || ends[end] != 1 {
		t.Errorf("ended: %v, want one %s", ends, end)
	}
}

// TestRestartedIsCounted: a claim that the start of a hub ends is counted; one that continues is
// not.
func TestRestartedIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		stands, inside := asked(t, h, nil), asked(t, h, nil)
		if _, err := claimTurn(h, h.LocalPrincipal("a"), parley.ClaimTurnParams{ConversationID: stands,
			Turn: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Client(h.LocalPrincipal("a")).ClaimTurn(t.Context(),
			&parley.ClaimTurnParams{ConversationID: inside, Turn: 1}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		next := crash(t, j)
		h = startOn(t, next, counted("y"))
		synctest.Wait()
		wantEnds(t, h, parley.ClaimRestarted)
		if n := h.Counted(); n.ClaimsTaken != 0 || n.Claims != 1 {
			t.Errorf("%d claims taken since the start, %d stand", n.ClaimsTaken, n.Claims)
		}
		wantTurns(t, next, stands, "claimed( 1)")
		wantTurns(t, next, inside, "claimed( 1)", "claim_ended(restarted)")
	})
}

// TestOverdueClaim: a claim that is asked for when the time of the conversation is over, before the clock has seen that, closes it and is refused.
func TestOverdueClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &blind{newJournal(t), make(chan struct{})}
		h := startOn(t, j.Journal, counted("x"))
		id := asked(t, h, &parley.Limits{DeadlineMs: 1000})
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2500 * time.Millisecond) // in the bubble
		h = startOn(t, j, counted("y"))
		_, err := claimTurn(h, h.LocalPrincipal("a"), parley.ClaimTurnParams{ConversationID: id, Turn: 1})
		refused(t, err, parley.ErrConversationClosed)
		if seq := closedBy(t, j, id, parley.ReasonDeadline, 1, 2500*time.Millisecond); seq != 2 {
			t.Errorf("closed at %d", seq)
		}
		if n := h.Counted(); n.ClaimsTaken != 0 || n.Claims != 0 {
			t.Errorf("%d claims taken, %d stand", n.ClaimsTaken, n.Claims)
		}
		close(j.see)
	})
}

// TestRepeatedFinal: the retry of a final message is answered and changes nothing: the next turn is
// not offered twice.
func TestRepeatedFinal(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		b := h.LocalPrincipal("b")
		id := create(t, h, b, &parley.CreateConversationParams{
			Participants: append(seatsOf(parley.KindAgent, "a", "c"), parley.Participant{ID: "b", Kind: parley.KindHuman}),
			Policy:       &parley.Policy{Kind: parley.PolicyAddressed}, StartsWith: "b", Limits: &parley.Limits{ClaimWindowMs: 60_000},
		})
		a, c := push(t, h, "r1", "a"), push(t, h, "r2", "c")
		words := func() *parley.SendMessageParams { return message(id, "@c what now", parley.FinalityTurn, "k") }
		first := say(t, h, b, words())
		offer := c.oneOffer()
		for range 3 {
			if again := say(t, h, b, words()); !again.Duplicate || again.Seq != first.Seq {
				t.Fatalf("%+v", again)
			}
		}
		c.noOffer()
		claim := c.take(id, offer.ClaimID)
		if again := say(t, h, b, words()); !again.Duplicate {
			t.Fatalf("%+v", again)
		}
		say(t, h, c.p, under(message(id, "@b this", parley.FinalityTurn, ""), claim.ClaimID))
		say(t, h, b, words())
		a.noOffer()
		c.noOffer()
		g, err := h.GetGuidance(t.Context(), b, &parley.GetGuidanceParams{ConversationID: id})
		if err != nil || g.Guidance.Speaker != "b" || g.Guidance.Turn != 3 {
			t.Fatalf("%+v, %v", g, err)
		}
		if n := h.Counted(); n.Offers != 1 {
			t.Errorf("%d offers of one turn", n.Offers)
		}
		wantTurns(t, j, id, "b:turn", "claimed(r2 1)", "c:turn")
	})
}
