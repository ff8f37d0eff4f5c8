package hub_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

// TestReplacedConnection: the same executor on another connection takes the place of the first, with the claims that it names; its others end.
func TestReplacedConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r := push(t, h, "r1", "a")
		kept := asked(t, h, nil)
		c := r.claim()
		left := asked(t, h, nil)
		lost := r.claim()
		again := connect(t, h, h.LocalPrincipal("a"))
		got := again.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"},
			Mode: parley.ModePush, Holding: []string{c.ClaimID}})
		if len(got.Holding) != 1 || got.Holding[0] != c.ClaimID || got.Ended != 1 {
			t.Fatalf("%+v", got)
		}
		synctest.Wait()
		if !r.replaced || again.replaced {
			t.Fatal("the first connection was not told that it is replaced")
		}
		wantTurns(t, j, left, "claimed(r1 1)", "claim_ended(disconnected)")
		refusedMessage(t, h, again.p, under(message(left, "x", parley.FinalityTurn, ""), lost.ClaimID), parley.ErrClaimLost)
		_, err := r.register(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}})
		refused(t, err, parley.ErrUnavailable)
		if _, err := renew(h, r.p, kept, c.ClaimID); err != nil { // it was under way
			t.Fatal(err)
		}
		r.conn.Close()
		pass(20 * time.Second)
		say(t, h, again.p, message(kept, "done", parley.FinalityTurn, ""))
		wantTurns(t, j, kept, "claimed(r1 1)", "a:turn")
	})
}

// TestRegistrationOfAnother: an executorId is its caller's own: the same one of another caller neither ends nor takes anything.
func TestRegistrationOfAnother(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		admin := login(t, h, rootToken)
		mine := mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "a"})
		other := mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "x", Agents: []string{"a"}})
		narrow := mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "a", Conversations: []string{"elsewhere"}})
		r := connect(t, h, mine)
		r.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}, Mode: parley.ModePush})
		id := asked(t, h, nil)
		c := r.claim()
		foreign := connect(t, h, other)
		if got := foreign.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1",
			Agents: []string{"a"}}); got.Ended != 0 || len(got.Holding) != 0 {
			t.Errorf("another caller's executor of the same id: %+v", got)
		}
		stranger := connect(t, h, h.LocalPrincipal("z"))
		if got := stranger.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"z"},
			Holding: []string{c.ClaimID}}); got.Ended != 0 || len(got.Holding) != 0 {
			t.Errorf("a stranger that has learned the claimId: %+v", got)
		}
		if r.replaced {
			t.Fatal("replaced by another caller's")
		}
		r.conn.Close()
		far := connect(t, h, narrow)
		if got := far.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"},
			Holding: []string{c.ClaimID}}); got.Ended != 0 || len(got.Holding) != 0 {
			t.Errorf("a token that does not reach the conversation: %+v", got)
		}
		wantTurns(t, j, id, "claimed(r1 1)")
		pass(6 * time.Second)
		wantTurns(t, j, id, "claimed(r1 1)", "claim_ended(disconnected)")
	})
}

// TestCapacity: an executor is asked for no more than it has room for, and for what waits when it has room again.
func TestCapacity(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r := connect(t, h, h.LocalPrincipal("a"))
		q := parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}, Mode: parley.ModePush, Capacity: 2}
		r.mustRegister(q)
		for range 5 {
			asked(t, h, nil)
		}
		done := 0
		for want := 2; done < 5; want = 1 {
			offers := r.offered()
			if len(offers) > want || len(offers) == 0 {
				t.Fatalf("%d offers after %d turns", len(offers), done)
			}
			for _, o := range offers {
				r.take(o.ConversationID, o.ClaimID)
			}
			r.noOffer()
			if done == 1 {
				r.mustRegister(q) // once more on the same connection: it is as full as it was
				r.noOffer()
			}
			o := offers[0]
			say(t, h, r.p, under(message(o.ConversationID, "done", parley.FinalityTurn, ""), o.ClaimID))
			done++
			if done == 4 {
				break
			}
		}
		if n := h.Counted(); n.Claims != 1 || n.Executors != 1 || n.ClaimsEnded[parley.ClaimFinal] != 4 {
			t.Fatalf("%+v", n)
		}
	})
}

// TestIgnoredOffersLeaveRoom: an executor that ignores offers gets other offers.
func TestIgnoredOffersLeaveRoom(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r := connect(t, h, h.LocalPrincipal("a"))
		r.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}, Mode: parley.ModePush, Capacity: 1})
		want := map[string]bool{}
		for range 4 {
			want[asked(t, h, nil)] = true
		}
		for range 60 {
			for _, o := range r.offered() {
				delete(want, o.ConversationID)
			}
			pass(time.Second)
		}
		if len(want) > 0 {
			t.Fatalf("%d of 4 conversations were never offered", len(want))
		}
	})
}

// TestPullIsNotOffered: an executor in pull mode is offered nothing, also when it was in push mode before.
func TestPullIsNotOffered(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r := push(t, h, "r1", "a")
		r.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}})
		id := asked(t, h, nil)
		r.noOffer()
		if c := r.pull(id, 1); c.ClaimID == "" || c.AgentID != "a" {
			t.Fatalf("%+v", c)
		}
		again := r.pull(id, 1)
		if !again.Duplicate {
			t.Fatalf("%+v", again)
		}
		wantTurns(t, j, id, "claimed(r1 1)")
	})
}

// TestRegistrationRefused: each refusal of registerExecutor, with nothing changed.
func TestRegistrationRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		good := parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}}
		many := make([]string, limits.MaxHolding+1)
		names := make([]string, limits.MaxExecutorAgents+1)
		for i := range names {
			names[i] = fmt.Sprint("a", i)
		}
		for name, change := range map[string]func(*parley.RegisterExecutorParams){
			"no id": func(q *parley.RegisterExecutorParams) { q.ExecutorID = "" }, "id hub": func(q *parley.RegisterExecutorParams) { q.ExecutorID = "hub" },
			"many agents": func(q *parley.RegisterExecutorParams) { q.Agents = names },
			"twice":       func(q *parley.RegisterExecutorParams) { q.Agents = []string{"a", "a"} }, "mode": func(q *parley.RegisterExecutorParams) { q.Mode = "both" },
			"capacity": func(q *parley.RegisterExecutorParams) { q.Capacity = -1 }, "more capacity": func(q *parley.RegisterExecutorParams) { q.Capacity = limits.MaxCapacity + 1 },
			"grace": func(q *parley.RegisterExecutorParams) { q.GraceMs = 99 }, "more grace": func(q *parley.RegisterExecutorParams) { q.GraceMs = limits.MaxGraceMs + 1 },
			"holding": func(q *parley.RegisterExecutorParams) { q.Holding = many },
		} {
			q := good
			change(&q)
			if _, err := connect(t, h, h.LocalPrincipal("a")).register(q); err == nil {
				t.Errorf("%s: taken", name)
			} else {
				refused(t, err, parley.ErrValidationFailed)
			}
		}
		_, err := one(func(done func(parley.RegisterExecutorResult, error)) {
			h.RegisterExecutor(h.LocalPrincipal("a"), &good, done)
		})
		refused(t, err, parley.ErrValidationFailed) // no connection
		_, err = connect(t, h, h.LocalPrincipal("b")).register(good)
		refused(t, err, parley.ErrForbidden) // another's agent
		for _, scopes := range [][]parley.Scope{{parley.ScopeRead, parley.ScopeWrite}, {parley.ScopeRead, parley.ScopeClaim},
			{parley.ScopeWrite, parley.ScopeClaim}} {
			_, err = connect(t, h, h.LocalPrincipal("a", scopes...)).register(good)
			refused(t, err, parley.ErrForbidden)
		}
		r := connect(t, h, h.LocalPrincipal("a"))
		r.mustRegister(good)
		other := good
		other.ExecutorID = "r2"
		_, err = r.register(other)
		refused(t, err, parley.ErrAlreadyExists)
		r.conn.Close()
		_, err = r.register(good)
		refused(t, err, parley.ErrUnavailable)
		if n := h.Counted(); n.Executors != 0 || n.Offers != 0 {
			t.Fatalf("%+v", n)
		}
	})
}

// TestReplacedConnectionImpliesNothing: a replaced connection no longer speaks under its claims
// without naming them.
func TestReplacedConnectionImpliesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r := push(t, h, "r1", "a")
		id := asked(t, h, nil)
		c := r.claim()
		again := connect(t, h, h.LocalPrincipal("a"))
		again.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}, Mode: parley.ModePush,
			Holding: []string{c.ClaimID}})
		say(t, h, again.p, message(id, "new", parley.FinalityNone, ""))
		refusedMessage(t, h, r.p, message(id, "old", parley.FinalityNone, ""), parley.ErrClaimRequired)
		wantTurns(t, j, id, "claimed(r1 1)", "a:none")
	})
}

// TestOneConnectionImpliesAClaim: a claim that was shown elsewhere, and then taken back by holding, is implied by its executor's connection alone.
func TestOneConnectionImpliesAClaim(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		q := parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}, Mode: parley.ModePush}
		r, s := connect(t, h, h.LocalPrincipal("a")), connect(t, h, h.LocalPrincipal("a"))
		r.mustRegister(q)
		id := asked(t, h, nil)
		c := r.claim()
		say(t, h, s.p, under(message(id, "moved", parley.FinalityNone, ""), c.ClaimID))
		refusedMessage(t, h, r.p, message(id, "not here", parley.FinalityNone, ""), parley.ErrClaimRequired)
		q.Holding = []string{c.ClaimID}
		if got := r.mustRegister(q); len(got.Holding) != 1 {
			t.Fatalf("%+v", got)
		}
		say(t, h, r.p, message(id, "back", parley.FinalityNone, ""))
		refusedMessage(t, h, s.p, message(id, "not there", parley.FinalityNone, ""), parley.ErrClaimRequired)
		wantTurns(t, j, id, "claimed(r1 1)", "a:none", "a:none")
	})
}
