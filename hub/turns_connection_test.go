package hub_test

import (
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// TestClaimOnEndedConnection: a claim that was under way on a connection when it ended belongs to
// its executor, which continues it on another one.
func TestClaimOnEndedConnection(t *testing.T) {
	ends := map[string]func(r, again *runner){
		"closed": func(r, _ *runner) { r.conn.Close() },
		"replaced": func(_, again *runner) {
			again.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}})
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
				r := connect(t, h, h.LocalPrincipal("a"))
				r.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}, GraceMs: 100})
				again := connect(t, h, h.LocalPrincipal("a"))
				end(r, again)
				shown, named, left := asked(t, h, nil), asked(t, h, nil), asked(t, h, nil)
				one, two := r.pull(shown, 1), r.pull(named, 1)
				r.pull(left, 1)
				got := again.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"},
					Holding: []string{one.ClaimID, two.ClaimID}})
				if len(got.Holding) != 2 || got.Ended != 1 {
					t.Errorf("the executor comes back: %+v", got)
				}
				say(t, h, again.p, under(message(shown, "done", parley.FinalityTurn, ""), one.ClaimID))
				say(t, h, again.p, message(named, "done", parley.FinalityTurn, ""))
				wantTurns(t, j, shown, "claimed(r1 1)", "a:turn")
				wantTurns(t, j, named, "claimed(r1 1)", "a:turn")
				wantTurns(t, j, left, "claimed(r1 1)", "claim_ended(disconnected)")
			})
		})
	}
}

// TestClaimOnEndedConnectionEnds: no connection holds such a claim, so its grace period runs.
func TestClaimOnEndedConnectionEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r := connect(t, h, h.LocalPrincipal("a"))
		r.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}, GraceMs: 100})
		r.conn.Close()
		id := asked(t, h, nil)
		r.pull(id, 1)
		pass(99 * time.Millisecond)
		wantTurns(t, j, id, "claimed(r1 1)")
		pass(2 * time.Millisecond)
		wantTurns(t, j, id, "claimed(r1 1)", "claim_ended(disconnected)")
	})
}

// TestClaimBeforeRegistration: a caller that took a claim before it registered continues the claim,
// whether it names it then or not. Another registration cannot have it.
func TestClaimBeforeRegistration(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r := connect(t, h, h.LocalPrincipal("a"))
		kept, held, still := asked(t, h, nil), asked(t, h, nil), asked(t, h, nil)
		one, two := r.pull(kept, 1), r.pull(held, 1)
		r.pull(still, 1)
		stranger := connect(t, h, h.LocalPrincipal("z"))
		if got := stranger.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"z"},
			Holding: []string{one.ClaimID}}); len(got.Holding) != 0 {
			t.Errorf("a stranger that has learned the claimId: %+v", got)
		}
		got := r.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"},
			Holding: []string{one.ClaimID}})
		if len(got.Holding) != 1 || got.Ended != 0 {
			t.Errorf("%+v", got)
		}
		for id, claimID := range map[string]string{kept: one.ClaimID, held: two.ClaimID, still: ""} {
			say(t, h, r.p, under(message(id, "done", parley.FinalityTurn, ""), claimID))
			wantTurns(t, j, id, "claimed( 1)", "a:turn")
		}
	})
}
