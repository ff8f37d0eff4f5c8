package hub_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

// TestWithdrawnWordsAreNoSpeech: agents of which each says something and then fails have passed all the same: it does not go on for ever.
func TestWithdrawnWordsAreNoSpeech(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		runners := []*runner{push(t, h, "r1", "a"), push(t, h, "r2", "c")}
		a := h.LocalPrincipal("a")
		id := create(t, h, a, &parley.CreateConversationParams{
			Participants: seatsOf(parley.KindAgent, "a", "c"),
			Limits:       &parley.Limits{OnTurnTimeout: parley.TurnSkip, MaxAttempts: 1, TurnTimeoutMs: 1000},
		})
		fail := func(r *runner) {
			for _, o := range r.offered() {
				r.take(id, o.ClaimID)
				say(t, h, r.p, message(id, "half", parley.FinalityNone, ""))
				if err := release(h, r.p, id, o.ClaimID, parley.ReleaseFailed); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 20 {
			fail(runners[0])
			fail(runners[1])
			pass(100 * time.Millisecond)
		}
		once := func(executor, agent string) []string {
			return []string{"claimed(" + executor + " 1)", agent + ":none", "claim_ended(failed)", "turn_ended(skipped)"}
		}
		wantTurns(t, j, id, append(once("r1", "a"), once("r2", "c")...)...)
		say(t, h, a, message(id, "go on", parley.FinalityTurn, ""))
		runners[1].claim()
	})
}

// TestClaimOfWhatWasDecidedAgain: a message whose append was decided again, because a previous one
// was not written, takes the claim for its connection.
func TestClaimOfWhatWasDecidedAgain(t *testing.T) {
	for range 50 { // the order of what comes after the reload is chance
		synctest.Test(t, func(t *testing.T) {
			j := newJournal(t)
			h := startOn(t, j, nil)
			t.Cleanup(j.Release)
			id := asked(t, h, nil)
			r := connect(t, h, h.LocalPrincipal("a"))
			j.Hold()
			j.FailNext(journal.ErrStorageFull)
			noted := make(chan error, 1)
			h.SendNote(h.LocalPrincipal("b"), note(id, "n", ""), func(_ parley.SeqResult, err error) { noted <- err })
			synctest.Wait()
			half := post(h, r.p, message(id, "half", parley.FinalityNone, ""))
			j.Release()
			refused(t, <-noted, parley.ErrStorageFull)
			if got := <-half; got.err != nil || got.ClaimID == "" {
				t.Fatalf("%+v", got)
			}
			pass(2 * limits.DefaultGraceMs * time.Millisecond)
			if n := h.Counted(); n.Claims != 1 || n.ClaimsEnded[parley.ClaimDisconnected] != 0 {
				t.Fatalf("ended on a connection that lives: %v", turnEvents(t, j, id))
			}
		})
	}
}
