package hub_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// TestClaimsRefused: each refusal of the calls about claims by its code, with nothing written.
func TestClaimsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		a, b, z := h.LocalPrincipal("a"), h.LocalPrincipal("b"), h.LocalPrincipal("z")
		id := asked(t, h, nil)
		r := connect(t, h, a)
		unknown := "clm_1_unknown"
		take := func(p *hub.Principal, q parley.ClaimTurnParams) func() error {
			return func() error {
				if q.ConversationID == "" {
					q.ConversationID = id
				}
				_, err := claimTurn(h, p, q)
				return err
			}
		}
		keep := func(p *hub.Principal, claim string) func() error {
			return func() error {
				_, err := renew(h, p, id, claim)
				return err
			}
		}
		give := func(p *hub.Principal, claim string, o parley.ReleaseOutcome) func() error {
			return func() error { return release(h, p, id, claim, o) }
		}
		type refusal struct {
			name string
			do   func() error
			want error
		}
		run := func(table []refusal) {
			t.Helper()
			before := len(events(t, j, id))
			for _, c := range table {
				err := c.do()
				if err == nil {
					t.Fatalf("%s: taken", c.name)
				}
				t.Log(c.name, "is", err)
				refused(t, err, c.want)
				if after := len(events(t, j, id)); after != before {
					t.Fatalf("%s: %d events were written", c.name, after-before)
				}
			}
		}
		run([]refusal{
			{"neither", take(a, parley.ClaimTurnParams{}), parley.ErrValidationFailed},
			{"both", take(a, parley.ClaimTurnParams{Turn: 1, ClaimID: unknown}), parley.ErrValidationFailed},
			{"negative turn", take(a, parley.ClaimTurnParams{Turn: -1}), parley.ErrValidationFailed},
			{"malformed id", take(a, parley.ClaimTurnParams{ClaimID: "claim"}), parley.ErrValidationFailed},
			{"long id", take(a, parley.ClaimTurnParams{ClaimID: "clm_1_" + strings.Repeat("x", 200)}),
				parley.ErrValidationFailed},
			{"no turn in the id", take(a, parley.ClaimTurnParams{ClaimID: "clm_x_y"}), parley.ErrValidationFailed},
			{"unknown id", take(a, parley.ClaimTurnParams{ClaimID: unknown}), parley.ErrClaimLost},
			{"unknown id of a turn to come", take(a, parley.ClaimTurnParams{ClaimID: "clm_7_unknown"}), parley.ErrClaimLost},
			{"turn to come", take(a, parley.ClaimTurnParams{Turn: 2}), parley.ErrTurnConflict},
			{"human without the floor", take(b, parley.ClaimTurnParams{Turn: 1}), parley.ErrForbidden},
			{"stranger", take(z, parley.ClaimTurnParams{Turn: 1}), parley.ErrNotFound},
			{"stranger malformed", take(z, parley.ClaimTurnParams{ClaimID: "claim"}), parley.ErrNotFound},
			{"absent", take(a, parley.ClaimTurnParams{ConversationID: "absent", Turn: 1}), parley.ErrNotFound},
			{"the hub's", take(login(t, h, rootToken), parley.ClaimTurnParams{ConversationID: "~tokens", Turn: 1}), parley.ErrNotFound},
			{"scope read missing", take(h.LocalPrincipal("a", parley.ScopeClaim, parley.ScopeWrite),
				parley.ClaimTurnParams{Turn: 1}), parley.ErrForbidden},
			{"scope write missing", take(h.LocalPrincipal("a", parley.ScopeClaim, parley.ScopeRead),
				parley.ClaimTurnParams{Turn: 1}), parley.ErrForbidden},
			{"scope claim missing", take(h.LocalPrincipal("a", parley.ScopeWrite, parley.ScopeRead),
				parley.ClaimTurnParams{Turn: 1}), parley.ErrForbidden},
			{"renew without id", keep(a, ""), parley.ErrValidationFailed},
			{"renew malformed", keep(a, "x"), parley.ErrValidationFailed},
			{"renew unknown", keep(a, unknown), parley.ErrClaimLost},
			{"renew by a stranger", keep(z, unknown), parley.ErrNotFound},
			{"release without id", give(a, "", parley.ReleaseYield), parley.ErrValidationFailed},
			{"release unknown", give(a, unknown, parley.ReleaseYield), parley.ErrClaimLost},
			{"release as nothing", give(a, unknown, "later"), parley.ErrValidationFailed},
			{"says with an unknown claim", func() error { return (<-post(h, a, under(message(id, "x", parley.FinalityTurn, ""), unknown))).err }, parley.ErrClaimLost},
			{"says with no claim's id", func() error { return (<-post(h, a, under(message(id, "x", parley.FinalityTurn, ""), "x"))).err }, parley.ErrValidationFailed},
		})
		c := r.pull(id, 1)
		run([]refusal{
			{"claimed by another", take(connect(t, h, a).p, parley.ClaimTurnParams{Turn: 1}), parley.ErrClaimLost},
			{"says without the claim", func() error { return (<-post(h, a, message(id, "x", parley.FinalityTurn, ""))).err },
				parley.ErrClaimRequired},
			{"says the next turn", func() error {
				q := under(message(id, "x", parley.FinalityTurn, ""), c.ClaimID)
				q.Turn = 2
				return (<-post(h, a, q)).err
			}, parley.ErrTurnConflict},
			{"long reason", func() error {
				_, err := one(func(done func(parley.EmptyResult, error)) {
					h.ReleaseClaim(r.p, &parley.ReleaseClaimParams{
						ConversationID: id, ClaimID: c.ClaimID, Outcome: parley.ReleaseYield, Reason: strings.Repeat("x",
							parley.MaxReasonBytes+1),
					}, done)
				})
				return err
			}, parley.ErrValidationFailed},
		})
		say(t, h, r.p, message(id, "done", parley.FinalityTurn, ""))
		run([]refusal{
			{"turn that has ended", take(a, parley.ClaimTurnParams{Turn: 1}), parley.ErrTurnClosed},
			{"used id", take(a, parley.ClaimTurnParams{ClaimID: c.ClaimID}), parley.ErrClaimLost},
			{"another's turn", take(a, parley.ClaimTurnParams{Turn: 2}), parley.ErrNotYourTurn},
			{"human with the floor", take(b, parley.ClaimTurnParams{Turn: 2}), parley.ErrForbidden},
			{"renew after the end", keep(r.p, c.ClaimID), parley.ErrClaimLost},
			{"release after the end", give(r.p, c.ClaimID, parley.ReleaseYield), parley.ErrClaimLost},
			{"says in the turn that ended", func() error {
				q := under(message(id, "x", parley.FinalityTurn, ""), c.ClaimID)
				q.Turn = 1
				return (<-post(h, r.p, q)).err
			}, parley.ErrTurnClosed},
		})
		say(t, h, b, message(id, "bye", parley.FinalityConversation, ""))
		run([]refusal{
			{"closed", take(a, parley.ClaimTurnParams{Turn: 3}), parley.ErrConversationClosed},
			{"renew closed", keep(r.p, c.ClaimID), parley.ErrConversationClosed},
			{"cancel closed", func() error { return cancelTurn(h, b, id, 3) }, parley.ErrConversationClosed},
		})
	})
}

// TestPlaces: the agent of a seat that is internal runs in the hub's process only, that of an external one nowhere else.
func TestPlaces(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		outside := push(t, h, "r1", "a")
		id := create(t, h, h.LocalPrincipal("b"), &parley.CreateConversationParams{Participants: []parley.Participant{
			{ID: "a", Kind: parley.KindAgent, Executor: parley.ExecutorInternal}, {ID: "b", Kind: parley.KindHuman},
		}})
		outside.noOffer()
		_, err := claimTurn(h, outside.p, parley.ClaimTurnParams{ConversationID: id, Turn: 1})
		refused(t, err, parley.ErrForbidden)
		refusedMessage(t, h, outside.p, message(id, "x", parley.FinalityNone, ""), parley.ErrForbidden)
		inside := h.Client(h.LocalPrincipal("a"))
		defer func() { _ = inside.Close() }()
		if _, err := inside.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: id, Turn: 1}); err != nil {
			t.Fatal(err)
		}
		id = create(t, h, h.LocalPrincipal("b"), &parley.CreateConversationParams{Participants: []parley.Participant{
			{ID: "a", Kind: parley.KindAgent, Executor: parley.ExecutorExternal}, {ID: "b", Kind: parley.KindHuman},
		}})
		_, err = inside.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: id, Turn: 1})
		refused(t, err, parley.ErrForbidden)
		outside.claim()
	})
}

// TestPullOnce: an executor that lost a turn cannot claim it again without an offer while another
// executor has not had it.
func TestPullOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r1 := connect(t, h, h.LocalPrincipal("a"))
		r1.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}})
		id := asked(t, h, &parley.Limits{MaxAttempts: 2})
		c := r1.pull(id, 1)
		r2 := push(t, h, "r2", "a")
		synctest.Wait() // until it can be asked, a moment after its answer
		if err := release(h, r1.p, id, c.ClaimID, parley.ReleaseDecline); err != nil {
			t.Fatal(err)
		}
		_, err := claimTurn(h, r1.p, parley.ClaimTurnParams{ConversationID: id, Turn: 1})
		refused(t, err, parley.ErrNotYourTurn)
		r2.conn.Close()
		again := r1.pull(id, 1)
		if again.Attempt != 2 {
			t.Fatalf("%+v", again)
		}
		if err := release(h, r1.p, id, again.ClaimID, parley.ReleaseFailed); err != nil {
			t.Fatal(err)
		}
		_, err = claimTurn(h, r1.p, parley.ClaimTurnParams{ConversationID: id, Turn: 1}) // the attempts are used up
		refused(t, err, parley.ErrNotYourTurn)
		refusedMessage(t, h, r1.p, message(id, "x", parley.FinalityNone, ""), parley.ErrClaimLost)
		wantTurns(t, j, id, "claimed(r1 1)", "claim_ended(declined)", "claimed(r1 2)", "claim_ended(failed)")
	})
}

// TestCancelTurn: people, the author of the answered message, and admins cancel a turn; no one else
// does.
func TestCancelTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		id := create(t, h, h.LocalPrincipal("b"), &parley.CreateConversationParams{Participants: []parley.Participant{
			{ID: "a", Kind: parley.KindAgent}, {ID: "c", Kind: parley.KindAgent}, {ID: "b", Kind: parley.KindHuman}, {ID: "p",
				Kind: parley.KindPeer},
		}})
		a, c, b := connect(t, h, h.LocalPrincipal("a")), connect(t, h, h.LocalPrincipal("c")), h.LocalPrincipal("b")
		refused(t, cancelTurn(h, c.p, id, 1), parley.ErrForbidden)
		refused(t, cancelTurn(h, h.LocalPrincipal("p"), id, 1), parley.ErrForbidden)
		refused(t, cancelTurn(h, h.LocalPrincipal("z"), id, 1), parley.ErrNotFound)
		refused(t, cancelTurn(h, b, id, 0), parley.ErrValidationFailed)
		refused(t, cancelTurn(h, b, id, 2), parley.ErrTurnConflict)
		say(t, h, a.p, message(id, "one", parley.FinalityTurn, ""))
		refused(t, cancelTurn(h, b, id, 1), parley.ErrTurnClosed)
		claim := c.pull(id, 2)
		say(t, h, c.p, message(id, "half", parley.FinalityNone, ""))
		refused(t, cancelTurn(h, c.p, id, 2), parley.ErrForbidden)
		if err := cancelTurn(h, a.p, id, 2); err != nil { // c answers a
			t.Fatal(err)
		}
		refusedMessage(t, h, c.p, under(message(id, "x", parley.FinalityTurn, ""), claim.ClaimID), parley.ErrNotYourTurn)
		if err := cancelTurn(h, b, id, 3); err != nil {
			t.Fatal(err)
		}
		if err := cancelTurn(h, login(t, h, rootToken), id, 4); err != nil {
			t.Fatal(err)
		}
		wantTurns(t, j, id, "a:turn", "claimed( 1)", "c:none", "turn_ended(canceled)", "turn_ended(canceled)",
			"turn_ended(canceled)")
		if n := h.Counted().ClaimsEnded; n[parley.ClaimTurnEnded] != 1 {
			t.Fatalf("%v", n)
		}
	})
}
