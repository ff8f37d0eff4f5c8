package hub_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// desks is a conversation of two agents of one operator, and a human.
func desks(t testing.TB, h *hub.Hub) string {
	t.Helper()
	return create(t, h, h.LocalPrincipal("b"), &parley.CreateConversationParams{Participants: []parley.Participant{
		{ID: "d1", Kind: parley.KindAgent, Agent: "a", Private: "PRIVATE-1"}, {ID: "d2", Kind: parley.KindAgent, Agent: "a", Private: "PRIVATE-2"},
		{ID: "b", Kind: parley.KindHuman},
	}})
}

func sees(t testing.TB, h *hub.Hub, p *hub.Principal, id string) string {
	t.Helper()
	page, err := h.Tail(t.Context(), p, &parley.TailParams{ConversationID: id})
	if errors.Is(err, parley.ErrNotFound) {
		return "nothing"
	}
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range page.Events {
		for _, words := range []string{"PRIVATE-1", "PRIVATE-2"} {
			if strings.Contains(string(e), words) {
				out = append(out, words)
			}
		}
	}
	return strings.Join(out, " ")
}

// TestTwoAgentsOfOneToken: two seats of one conversation on one connection: each claim speaks and reads as its own seat.
func TestTwoAgentsOfOneToken(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		p := mustToken(t, h, login(t, h, rootToken), parley.CreateTokenParams{AgentID: "a"})
		r := connect(t, h, p)
		r.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}, Mode: parley.ModePush})
		id := desks(t, h)
		other := desks(t, h)
		offers := r.offered()
		if len(offers) != 2 || offers[0].AgentID != "d1" {
			t.Fatalf("%+v", offers)
		}
		if got := sees(t, h, r.p, id); got != "nothing" {
			t.Fatalf("before its claim it sees %s", got)
		}
		first := r.take(id, offers[0].ClaimID)
		if got := sees(t, h, r.p, id); got != "PRIVATE-1" {
			t.Fatalf("as d1 it sees %q", got)
		}
		if got := sees(t, h, r.p, other); got != "nothing" {
			t.Fatalf("the seat of one conversation gives %q in another", got)
		}
		if got := sees(t, h, p, id); got != "nothing" {
			t.Fatalf("another connection sees %q", got)
		}
		say(t, h, r.p, message(id, "one", parley.FinalityTurn, "k"))
		second := r.claim()
		if second.AgentID != "d2" || second.Turn != 2 {
			t.Fatalf("%+v", second)
		}
		if got := sees(t, h, r.p, id); got != "PRIVATE-2" {
			t.Fatalf("as d2 it sees %q", got)
		}
		if again := say(t, h, r.p, under(message(id, "one", parley.FinalityNone, "k"), second.ClaimID)); again.Duplicate {
			t.Fatalf("the key of d1 is another's: %+v", again)
		}
		_, err := renew(h, r.p, id, first.ClaimID)
		refused(t, err, parley.ErrClaimLost)
		say(t, h, r.p, message(id, "two", parley.FinalityTurn, ""))
		if got := sees(t, h, r.p, other); got != "nothing" {
			t.Fatalf("the seat of one conversation gives %q in another", got)
		}
		r.take(other, offers[1].ClaimID)
		wantTurns(t, j, other, "participant_private", "participant_private", "claimed(r1 1)")
	})
}

// TestLearnedClaimID: a caller that learns the id of a claim and may not speak as its participant
// cannot use it.
func TestLearnedClaimID(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r := push(t, h, "r1", "a")
		id := asked(t, h, nil)
		o := r.oneOffer()
		for who, want := range map[string]error{"b": parley.ErrForbidden, "z": parley.ErrNotFound} {
			thief := connect(t, h, h.LocalPrincipal(who))
			thief.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{who}, Mode: parley.ModePush})
			_, err := claimTurn(h, thief.p, parley.ClaimTurnParams{ConversationID: id, ClaimID: o.ClaimID})
			refused(t, err, want)
		}
		second := push(t, h, "r2", "a") // of the same agent, but not whom the offer was made to
		_, err := claimTurn(h, second.p, parley.ClaimTurnParams{ConversationID: id, ClaimID: o.ClaimID})
		refused(t, err, parley.ErrClaimLost)
		c := r.take(id, o.ClaimID)
		before := len(events(t, j, id))
		for _, who := range []struct {
			p               *hub.Principal
			says, renews    error
			releases, token error
		}{
			{connect(t, h, h.LocalPrincipal("b")).p, parley.ErrNotYourTurn, parley.ErrClaimLost, parley.ErrClaimLost, parley.ErrClaimLost},
			{connect(t, h, h.LocalPrincipal("z")).p, parley.ErrNotFound, parley.ErrNotFound, parley.ErrNotFound, parley.ErrNotFound},
			{second.p, parley.ErrClaimLost, parley.ErrClaimLost, parley.ErrClaimLost, nil},
		} {
			refusedMessage(t, h, who.p, under(message(id, "x", parley.FinalityTurn, ""), c.ClaimID), who.says)
			_, err := one(func(done func(parley.SendResult, error)) {
				q := trace(id, "x", "")
				q.ClaimID = c.ClaimID
				h.SendTrace(who.p, q, done)
			})
			refused(t, err, who.says)
			_, err = one(func(done func(int, error)) {
				h.SendDelta(who.p, &parley.SendDeltaParams{ConversationID: id, Turn: 1, ClaimID: c.ClaimID},
					func(err error) { done(0, err) })
			})
			refused(t, err, who.says)
			_, err = renew(h, who.p, id, c.ClaimID)
			refused(t, err, who.renews)
			refused(t, release(h, who.p, id, c.ClaimID, parley.ReleaseDecline), who.releases)
			if who.token != nil {
				_, err = createToken(h, who.p, parley.CreateTokenParams{AgentID: who.p.AgentID,
					Claim: &parley.ClaimRef{ConversationID: id, ClaimID: c.ClaimID}})
				refused(t, err, who.token)
			}
		}
		if after := len(events(t, j, id)); after != before {
			t.Fatalf("%d events were written: %v", after-before, turnEvents(t, j, id))
		}
		say(t, h, r.p, message(id, "done", parley.FinalityTurn, ""))
	})
}

// TestSeatEndsWithItsTurn: a connection speaks as itself again without a claim when the turn ended,
// also by another's final message.
func TestSeatEndsWithItsTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		both := mustToken(t, h, login(t, h, rootToken), parley.CreateTokenParams{AgentID: "b", Agents: []string{"a"}})
		r1 := connect(t, h, both)
		r1.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}, Mode: parley.ModePush})
		id := asked(t, h, nil)
		c := r1.claim()
		if err := release(h, r1.p, id, c.ClaimID, parley.ReleaseFailed); err != nil {
			t.Fatal(err)
		}
		// b wrote it: the claim is over
		refusedMessage(t, h, r1.p, message(id, "late", parley.FinalityTurn, ""), parley.ErrNotYourTurn)
		refusedMessage(t, h, r1.p.On(r1.conn), under(message(id, "late", parley.FinalityTurn, ""), c.ClaimID), parley.ErrNotYourTurn)
		r2 := connect(t, h, h.LocalPrincipal("a"))
		r2.pull(id, 1)
		say(t, h, r2.p, message(id, "done", parley.FinalityTurn, ""))
		say(t, h, r1.p, message(id, "as b", parley.FinalityTurn, ""))
		wantTurns(t, j, id, "claimed(r1 1)", "claim_ended(failed)", "claimed( 2)", "a:turn", "b:turn")
	})
}

// TestSeatIsOfItsToken: who authenticates with another token on the connection does not keep the seat, and one that was renewed keeps it with what it may now.
func TestSeatIsOfItsToken(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		admin := login(t, h, rootToken)
		p := mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "a"})
		r := connect(t, h, p)
		id, elsewhere := desks(t, h), desks(t, h)
		r.p = p.On(r.conn)
		c, err := claimTurn(h, r.p, parley.ClaimTurnParams{ConversationID: id, Turn: 1})
		if err != nil || c.AgentID != "d1" {
			t.Fatalf("%+v, %v", c, err)
		}
		other := mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "a"}).On(r.conn)
		if got := sees(t, h, other, id); got != "nothing" {
			t.Fatalf("another token on the connection sees %q", got)
		}
		elsewhereOnly, err := h.Narrow(h.LocalPrincipal("b"), elsewhere)
		if err != nil {
			t.Fatal(err)
		}
		if got := sees(t, h, elsewhereOnly.On(r.conn), id); got != "nothing" {
			t.Fatalf("a ticket for another conversation sees %q", got)
		}
		if got := sees(t, h, r.p, id); got != "PRIVATE-1" {
			t.Fatalf("%q", got)
		}
	})
}

// TestSeatAfterAFreshToken: a caller with a fresh token on the same connection reads as the seat
// again once it has named the claim.
func TestSeatAfterAFreshToken(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		admin := login(t, h, rootToken)
		r := connect(t, h, mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "a"}))
		r.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}, Mode: parley.ModePush})
		id := desks(t, h)
		c := r.claim()
		fresh := mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "a"}).On(r.conn)
		if got := sees(t, h, fresh, id); got != "nothing" {
			t.Fatalf("before the claim is named: %q", got)
		}
		if _, err := renew(h, fresh, id, c.ClaimID); err != nil {
			t.Fatal(err)
		}
		if got := sees(t, h, fresh, id); got != "PRIVATE-1" {
			t.Fatalf("after the claim was named: %q", got)
		}
		say(t, h, fresh, message(id, "done", parley.FinalityTurn, ""))
	})
}

// TestRunnerIsTold: the creator of a conversation may name any agent for a seat. The log has the
// claimer if that is not the seat.
func TestRunnerIsTold(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		m := connect(t, h, mustToken(t, h, login(t, h, rootToken), parley.CreateTokenParams{AgentID: "mallory"}))
		for _, row := range []struct {
			seat parley.Participant
			want string
		}{
			{parley.Participant{ID: "bob", Kind: parley.KindAgent, Agent: "mallory"}, "mallory"},
			{parley.Participant{ID: "mallory", Kind: parley.KindAgent}, ""},
		} {
			for _, mode := range []parley.ExecutorMode{parley.ModePull, parley.ModePush} {
				m.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"mallory"}, Mode: mode})
				id := create(t, h, m.p, &parley.CreateConversationParams{Participants: []parley.Participant{row.seat, {ID: "alice",
					Kind: parley.KindHuman}}})
				if mode == parley.ModePush {
					m.claim()
				} else {
					m.pull(id, 1)
				}
				say(t, h, m.p, message(id, "I am "+row.seat.ID, parley.FinalityTurn, ""))
				log := events(t, j, id)
				sys, err := log[1].System()
				if err != nil || sys.AgentID != row.seat.ID || sys.Runner != row.want || log[2].From != row.seat.ID {
					t.Errorf("%s, %s: %s %s, %v", row.seat.ID, mode, log[1].Raw(), log[2].Raw(), err)
				}
			}
		}
	})
}

// TestPersonBesideItsAgent: on a connection that took the claim of an agent, a message of a person
// without a claim is refused with claim_lost in the turn in which that claim ended, because it
// could be the agent's. On another connection, and in the next turn, it is accepted.
func TestPersonBesideItsAgent(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		both := mustToken(t, h, login(t, h, rootToken), parley.CreateTokenParams{AgentID: "b", Agents: []string{"a"}})
		shared, own := connect(t, h, both), connect(t, h, both)
		shared.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}, Mode: parley.ModePush})
		id := create(t, h, both, &parley.CreateConversationParams{
			Policy:       &parley.Policy{Kind: parley.PolicyOpen},
			Participants: []parley.Participant{{ID: "a", Kind: parley.KindAgent}, {ID: "b", Kind: parley.KindHuman}},
		})
		pass(time.Second)
		c := shared.claim()
		if err := release(h, shared.p, id, c.ClaimID, parley.ReleaseDecline); err != nil {
			t.Fatal(err)
		}
		refusedMessage(t, h, shared.p, message(id, "me?", parley.FinalityTurn, ""), parley.ErrClaimLost)
		say(t, h, own.p, message(id, "me", parley.FinalityTurn, ""))
		say(t, h, shared.p, message(id, "and me", parley.FinalityTurn, ""))
		wantTurns(t, j, id, "claimed(r1 1)", "claim_ended(declined)", "b:turn", "b:turn")
	})
}
