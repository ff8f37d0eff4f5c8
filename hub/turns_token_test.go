package hub_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// bound makes a token for the turn of a claim of p's.
func bound(t *testing.T, h *hub.Hub, p *hub.Principal, id string, c parley.ClaimTurnResult) parley.CreateTokenResult {
	t.Helper()
	r, err := createToken(h, p, parley.CreateTokenParams{AgentID: c.AgentID, Claim: &parley.ClaimRef{ConversationID: id, ClaimID: c.ClaimID}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTokenForOneTurn: it speaks under the claim, reaches nothing else, takes and makes nothing, and ends with the claim, with all that waits on it.
func TestTokenForOneTurn(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, h *hub.Hub, r *runner, child *hub.Principal, id, claim string){
		"final": func(t *testing.T, h *hub.Hub, _ *runner, child *hub.Principal, id, _ string) {
			say(t, h, child, message(id, "done", parley.FinalityTurn, ""))
		},
		"release": func(t *testing.T, h *hub.Hub, r *runner, _ *hub.Principal, id, claim string) {
			if err := release(h, r.p, id, claim, parley.ReleaseFailed); err != nil {
				t.Fatal(err)
			}
		},
		"expiry": func(*testing.T, *hub.Hub, *runner, *hub.Principal, string, string) { pass(time.Minute) },
		"loss": func(_ *testing.T, _ *hub.Hub, r *runner, _ *hub.Principal, _, _ string) {
			r.conn.Close()
			pass(5 * time.Second)
		},
		"close": func(t *testing.T, h *hub.Hub, _ *runner, _ *hub.Principal, id, _ string) {
			if _, err := one(func(done func(parley.SeqResult, error)) {
				h.CloseConversation(h.LocalPrincipal("b"), &parley.CloseConversationParams{ConversationID: id}, done)
			}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
				r := push(t, h, "r1", "a")
				id, other := asked(t, h, nil), ""
				c := r.claim()
				token := bound(t, h, r.p, id, c)
				other = asked(t, h, nil)
				child := login(t, h, token.Token)
				on := connect(t, h, child)
				say(t, h, on.p, message(id, "half", parley.FinalityNone, "k"))
				refusedMessage(t, h, on.p, message(other, "x", parley.FinalityTurn, ""), parley.ErrNotFound)
				_, err := on.register(parley.RegisterExecutorParams{ExecutorID: "r2", Agents: []string{"a"}})
				refused(t, err, parley.ErrForbidden)
				_, err = claimTurn(h, on.p, parley.ClaimTurnParams{ConversationID: id, Turn: 1})
				refused(t, err, parley.ErrForbidden)
				_, err = createToken(h, on.p, parley.CreateTokenParams{AgentID: "a"})
				refused(t, err, parley.ErrForbidden)
				_, err = h.Authenticate(t.Context(), token.Token, "b")
				refused(t, err, parley.ErrForbidden)
				pass(time.Second) // so that the wait is longer than the claim
				waits, follows := make(chan error, 1), make(chan error, 1)
				s, err := h.Subscribe(t.Context(), on.p, &parley.SubscribeParams{ConversationID: id, SinceSeq: 3})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				go func() {
					_, _, err := h.GetUpdates(t.Context(), on.p, &parley.GetUpdatesParams{ConversationID: id,
						Until: parley.UntilClosed, TimeoutMs: 60_000, SinceSeq: 3})
					if err == nil {
						err = parley.ErrUnauthenticated // the close itself was faster than the end of the token
					}
					waits <- err
				}()
				go func() {
					for {
						if _, err := s.Next(t.Context(), 10); err != nil {
							follows <- err
							return
						}
					}
				}()
				synctest.Wait()
				end(t, h, r, on.p, id, c.ClaimID)
				refused(t, <-waits, parley.ErrUnauthenticated)
				refused(t, <-follows, parley.ErrUnauthenticated)
				refusedMessage(t, h, on.p, message(id, "late", parley.FinalityTurn, ""), parley.ErrUnauthenticated)
				_, err = h.Authenticate(t.Context(), token.Token, "")
				refused(t, err, parley.ErrUnauthenticated)
			})
		})
	}
}

// TestTokenForOneTurnIsRefused: a token cannot be bound to a claim that is over or belongs to
// another caller.
func TestTokenForOneTurnIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r := push(t, h, "r1", "a")
		id := asked(t, h, nil)
		c := r.claim()
		of := func(claim string) *parley.ClaimRef { return &parley.ClaimRef{ConversationID: id, ClaimID: claim} }
		for name, row := range map[string]struct {
			p    *hub.Principal
			q    parley.CreateTokenParams
			want error
		}{
			"unknown": {r.p, parley.CreateTokenParams{AgentID: "a", Claim: of("clm_1_unknown")}, parley.ErrClaimLost},
			"absent": {r.p, parley.CreateTokenParams{AgentID: "a", Claim: &parley.ClaimRef{ConversationID: "absent",
				ClaimID: c.ClaimID}}, parley.ErrNotFound},
			"conversations": {r.p, parley.CreateTokenParams{AgentID: "a", Claim: of(c.ClaimID), Conversations: []string{id}},
				parley.ErrValidationFailed},
			"agents": {r.p, parley.CreateTokenParams{AgentID: "a", Claim: of(c.ClaimID), Agents: []string{"a"}},
				parley.ErrValidationFailed},
			"another": {h.LocalPrincipal("b"), parley.CreateTokenParams{AgentID: "b", Claim: of(c.ClaimID)},
				parley.ErrClaimLost},
			"a stranger": {h.LocalPrincipal("z"), parley.CreateTokenParams{AgentID: "z", Claim: of(c.ClaimID)},
				parley.ErrNotFound},
			"no scope": {h.LocalPrincipal("a", parley.ScopeRead, parley.ScopeWrite),
				parley.CreateTokenParams{AgentID: "a", Claim: of(c.ClaimID)}, parley.ErrForbidden},
		} {
			if _, err := createToken(h, row.p, row.q); err == nil {
				t.Errorf("%s: taken", name)
			} else {
				refused(t, err, row.want)
			}
		}
		log := events(t, j, "~tokens")
		if len(log) != 0 {
			t.Fatalf("%d events in the log of tokens", len(log))
		}
	})
}

// TestTokenForOneTurnAfterRestart: the token is valid while its claim is current, and invalid if
// that ended meanwhile.
func TestTokenForOneTurnAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, rooted("x"))
		r := push(t, h, "r1", "a")
		stands, over := asked(t, h, nil), asked(t, h, nil)
		var tokens []string
		for _, o := range r.offered() {
			tokens = append(tokens, bound(t, h, r.p, o.ConversationID, r.take(o.ConversationID, o.ClaimID)).Token)
		}
		say(t, h, login(t, h, tokens[1]), message(over, "done", parley.FinalityTurn, ""))
		next := crash(t, j)
		h = startOn(t, next, rooted("y"))
		synctest.Wait()
		child := login(t, h, tokens[0])
		say(t, h, child, message(stands, "half", parley.FinalityNone, ""))
		_, err := h.Authenticate(t.Context(), tokens[1], "")
		refused(t, err, parley.ErrUnauthenticated)
		pass(5 * time.Second) // the grace of its executor, which does not come back
		refusedMessage(t, h, child, message(stands, "late", parley.FinalityNone, ""), parley.ErrUnauthenticated)
	})
}

// TestTokenForOneTurnBehindItsEnd: a call that is decided after the end of the claim, before that
// is committed, is refused too.
func TestTokenForOneTurnBehindItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, rooted("x"))
		t.Cleanup(j.Release)
		r := push(t, h, "r1", "a")
		id := asked(t, h, nil)
		c := r.claim()
		child := login(t, h, bound(t, h, r.p, id, c).Token)
		j.Hold()
		final := post(h, r.p, message(id, "done", parley.FinalityTurn, ""))
		reply := post(h, h.LocalPrincipal("b"), message(id, "and?", parley.FinalityTurn, ""))
		later := post(h, child, message(id, "sneaks in", parley.FinalityTurn, ""))
		noted := make(chan error, 1)
		h.SendNote(child, note(id, "sneaks in", ""), func(_ parley.SeqResult, err error) { noted <- err })
		j.Release()
		for _, c := range []<-chan sent{final, reply} {
			if got := <-c; got.err != nil {
				t.Fatal(got.err)
			}
		}
		refused(t, (<-later).err, parley.ErrUnauthenticated)
		refused(t, <-noted, parley.ErrUnauthenticated)
		wantTurns(t, j, id, "claimed(r1 1)", "a:turn", "b:turn")
	})
}

// TestTokenForOneTurnOfASeat: whose agent sits on a seat of another name gets a token for the seat's turn, and for no other seat.
func TestTokenForOneTurnOfASeat(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r := connect(t, h, mustToken(t, h, login(t, h, rootToken), parley.CreateTokenParams{AgentID: "a"}))
		id := desks(t, h)
		c := r.pull(id, 1)
		child := login(t, h, bound(t, h, r.p, id, c).Token)
		if got := sees(t, h, child, id); child.AgentID != "d1" || got != "PRIVATE-1" {
			t.Fatalf("%s sees %q", child.AgentID, got)
		}
		for _, seat := range []string{"d2", "b", "a"} {
			_, err := createToken(h, r.p, parley.CreateTokenParams{AgentID: seat, Claim: &parley.ClaimRef{ConversationID: id, ClaimID: c.ClaimID}})
			if err == nil {
				t.Errorf("a token for %s", seat)
			}
		}
		_, err := createToken(h, r.p, parley.CreateTokenParams{AgentID: c.AgentID})
		refused(t, err, parley.ErrForbidden) // without the claim it is another's id
		say(t, h, child, message(id, "done", parley.FinalityTurn, ""))
		wantTurns(t, j, id, "participant_private", "participant_private", "claimed( 1)", "d1:turn")
	})
}
