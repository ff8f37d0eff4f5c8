package hub_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// TestRefusalsAreSure: what one hub has acknowledged another one does not refuse, however far behind it is: it waits until it knows.
func TestRefusalsAreSure(t *testing.T) {
	ab := func() *parley.CreateConversationParams {
		return &parley.CreateConversationParams{Participants: append(seatsOf(parley.KindAgent, "a"),
			seatsOf(parley.KindHuman, "h")...)}
	}
	for name, run := range map[string]func(t *testing.T, c *cluster, here, there *hub.Hub){
		"token": func(t *testing.T, c *cluster, here, there *hub.Hub) {
			var made holder
			c.behind(1, func() { made = hold(t, here, login(t, here, rootToken), ofA) }, func() error {
				_, err := there.Authenticate(t.Context(), made.token, "")
				return err
			})
		},
		"token to revoke": func(t *testing.T, c *cluster, here, there *hub.Hub) {
			var made holder
			c.behind(1, func() { made = hold(t, here, login(t, here, rootToken), ofA) }, func() error {
				ids, err := revoke(there, login(t, there, rootToken), made.TokenID)
				if err == nil && !slices.Equal(ids, []string{made.TokenID}) {
					return errors.New("it has ended others")
				}
				return err
			})
		},
		"token under a claim": func(t *testing.T, c *cluster, here, there *hub.Hub) {
			id := create(t, here, here.LocalPrincipal("h"), ab())
			c.settle()
			var claim parley.ClaimTurnResult
			c.behind(1, func() { claim = mustClaim(t, here, "a", id, 1) }, func() error {
				admin := login(t, there, rootToken)
				r, err := createToken(there, admin, parley.CreateTokenParams{AgentID: "a",
					Claim: &parley.ClaimRef{ConversationID: id, ClaimID: claim.ClaimID}})
				if err == nil {
					_, err = there.Authenticate(t.Context(), r.Token, "")
				}
				return err
			})
		},
		"conversation": func(t *testing.T, c *cluster, here, there *hub.Hub) {
			c.behind(1, func() { create(t, here, here.LocalPrincipal("h"), named2("new", ab())) }, func() error {
				_, _, err := there.GetConversation(t.Context(), there.LocalPrincipal("h"),
					&parley.GetConversationParams{ConversationID: "new"})
				return err
			})
		},
		"conversation to write to": func(t *testing.T, c *cluster, here, there *hub.Hub) {
			c.behind(1, func() { create(t, here, here.LocalPrincipal("h"), named2("new", ab())) }, func() error {
				return (<-post(there, there.LocalPrincipal("a"), message("new", "1", parley.FinalityTurn, ""))).err
			})
		},
		"cursor": func(t *testing.T, c *cluster, here, there *hub.Hub) {
			id := create(t, here, here.LocalPrincipal("h"), ab())
			c.settle()
			var seq int64
			c.behind(1, func() { seq = say(t, here, here.LocalPrincipal("a"), message(id, "1", parley.FinalityTurn, "")).Seq }, func() error {
				_, err := there.Tail(t.Context(), there.LocalPrincipal("h"), &parley.TailParams{ConversationID: id, SinceSeq: seq})
				return err
			})
		},
		"seat": func(t *testing.T, c *cluster, here, there *hub.Hub) {
			id := create(t, here, here.LocalPrincipal("h"), ab())
			c.settle()
			add := &parley.AddParticipantParams{ConversationID: id, Participant: parley.Participant{ID: "new",
				Kind: parley.KindPeer}}
			c.behind(1, func() {
				if _, err := one(func(done func(parley.SeqResult, error)) {
					here.AddParticipant(here.LocalPrincipal("h"), add, done)
				}); err != nil {
					t.Error(err)
				}
			}, func() error {
				_, err := one(func(done func(parley.SeqResult, error)) {
					there.SendNote(there.LocalPrincipal("new"), note(id, "hi", ""), done)
				})
				return err
			})
		},
		"floor": func(t *testing.T, c *cluster, here, there *hub.Hub) {
			id := create(t, here, here.LocalPrincipal("h"), ab())
			c.settle()
			c.behind(1, func() { say(t, here, here.LocalPrincipal("a"), message(id, "1", parley.FinalityTurn, "")) }, func() error {
				return (<-post(there, there.LocalPrincipal("h"), message(id, "2", parley.FinalityTurn, ""))).err
			})
		},
		"turn to claim": func(t *testing.T, c *cluster, here, there *hub.Hub) {
			q := ab()
			q.StartsWith = "h"
			id := create(t, here, here.LocalPrincipal("h"), q)
			c.settle()
			c.behind(1, func() { say(t, here, here.LocalPrincipal("h"), message(id, "1", parley.FinalityTurn, "")) }, func() error {
				_, err := claimTurn(there, there.LocalPrincipal("runner").SpeakingAs("a"),
					parley.ClaimTurnParams{ConversationID: id, Turn: 2})
				return err
			})
		},
		"claim to renew": func(t *testing.T, c *cluster, here, there *hub.Hub) {
			id := create(t, here, here.LocalPrincipal("h"), ab())
			c.settle()
			var claim parley.ClaimTurnResult
			c.behind(1, func() { claim = mustClaim(t, here, "a", id, 1) }, func() error {
				_, err := one(func(done func(parley.RenewClaimResult, error)) {
					there.RenewClaim(there.LocalPrincipal("runner").SpeakingAs("a"),
						&parley.RenewClaimParams{ConversationID: id, ClaimID: claim.ClaimID}, done)
				})
				return err
			})
		},
		"claim to speak under": func(t *testing.T, c *cluster, here, there *hub.Hub) {
			id := create(t, here, here.LocalPrincipal("h"), ab())
			c.settle()
			var claim parley.ClaimTurnResult
			c.behind(1, func() { claim = mustClaim(t, here, "a", id, 1) }, func() error {
				q := message(id, "1", parley.FinalityTurn, "")
				q.ClaimID = claim.ClaimID
				return (<-post(there, there.LocalPrincipal("a"), q)).err
			})
		},
		"claim to go on with": func(t *testing.T, c *cluster, here, there *hub.Hub) {
			id := create(t, here, here.LocalPrincipal("h"), ab())
			c.settle()
			var claim parley.ClaimTurnResult
			old := push(t, here, "r", "a")
			c.behind(1, func() { claim = old.claim() }, func() error {
				r := connect(t, there, there.LocalPrincipal("a"))
				got, err := r.register(parley.RegisterExecutorParams{ExecutorID: "r", Agents: []string{"a"}, Mode: parley.ModePush,
					Holding: []string{claim.ClaimID}})
				if err == nil && !slices.Equal(got.Holding, []string{claim.ClaimID}) {
					return errors.New("it does not go on with " + claim.ClaimID + " of " + id)
				}
				return err
			})
		},
		"agent of a runner": func(t *testing.T, c *cluster, here, there *hub.Hub) {
			c.behind(1, func() { hosts(t, here, counter("count")) }, func() error {
				_, err := there.StartSession(t.Context(), there.LocalPrincipal("h"), counts("count", 1, parley.ModeAsyncPoll, ""))
				return err
			})
		},
		"session": func(t *testing.T, c *cluster, here, there *hub.Hub) {
			hosts(t, here, counter("count"))
			c.settle()
			var s *parley.Session
			c.behind(1, func() { s = start(t, here, here.LocalPrincipal("h"), counts("count", 1, parley.ModeAsyncPoll, "")) }, func() error {
				_, err := there.GetSession(t.Context(), there.LocalPrincipal("h"), &parley.GetSessionParams{SessionID: s.SessionID})
				return err
			})
		},
		"session to stop": func(t *testing.T, c *cluster, here, there *hub.Hub) {
			hosts(t, here, counter("count"))
			c.settle()
			var s *parley.Session
			c.behind(1, func() { s = start(t, here, here.LocalPrincipal("h"), counts("count", 1, parley.ModeAsyncPoll, "")) }, func() error {
				got, err := there.StopSession(t.Context(), there.LocalPrincipal("h"),
					&parley.StopSessionParams{SessionID: s.SessionID})
				if err == nil && got.Status != parley.SessionStopped {
					return errors.New("it is " + string(got.Status))
				}
				return err
			})
		},
		"command": func(t *testing.T, c *cluster, here, there *hub.Hub) {
			x := hosts(t, here, counter("count"))
			s := start(t, here, here.LocalPrincipal("h"), counts("count", 1, parley.ModeAsyncPoll, ""))
			c.settle()
			var token string
			c.behind(1, func() {
				o := x.offered()[0]
				x.take(o.ConversationID, o.ClaimID)
				token = "plc_" + s.SessionID + "_" + o.ClaimID
			}, func() error {
				_, err := there.Authenticate(t.Context(), token, "")
				return err
			})
		},
		"approval": func(t *testing.T, c *cluster, here, there *hub.Hub) {
			id := create(t, here, here.LocalPrincipal("h"), ab())
			claim := mustClaim(t, here, "a", id, 1)
			c.settle()
			var asked *parley.Approval
			c.behind(1, func() {
				var err error
				if asked, err = here.RequestApproval(t.Context(), here.LocalPrincipal("a"),
					underClaim(claim.ClaimID, may(id, "k"))); err != nil {
					t.Fatal(err)
				}
			}, func() error {
				_, err := there.ResolveApproval(t.Context(), there.LocalPrincipal("h", parley.ScopeApprove, parley.ScopeRead),
					&parley.ResolveApprovalParams{
						ApprovalID: asked.ApprovalID, Decision: parley.DecisionApproved,
					})
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, 2, time.Millisecond)
				run(t, c, c.hub(0), c.hub(1))
			})
		})
	}
}

// mustClaim takes a turn for an agent, on no connection.
func mustClaim(t *testing.T, h *hub.Hub, agent, id string, turn int64) parley.ClaimTurnResult {
	t.Helper()
	r, err := claimTurn(h, h.LocalPrincipal(agent), parley.ClaimTurnParams{ConversationID: id, Turn: turn})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// underClaim returns a request under a claim.
func underClaim(claim string, q *parley.RequestApprovalParams) *parley.RequestApprovalParams {
	q.ClaimID = claim
	return q
}

// named2 sets the id of a conversation.
func named2(id string, q *parley.CreateConversationParams) *parley.CreateConversationParams {
	q.ConversationID = id
	return q
}

// TestRefusalsRestOnChecks: a refusal costs one check. A repetition that finds its key needs none,
// and a single hub never makes one.
func TestRefusalsRestOnChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, time.Millisecond)
		n, h := c.nodes[1], c.hub(1)
		id := create(t, h, h.LocalPrincipal("a"), &parley.CreateConversationParams{Participants: seats("a", "b")})
		say(t, h, h.LocalPrincipal("a"), message(id, "1", parley.FinalityTurn, "k"))
		if n.checks.Load() != 0 {
			t.Errorf("%d checks before anything was refused", n.checks.Load())
		}
		if r := say(t, h, h.LocalPrincipal("a"), message(id, "1", parley.FinalityTurn, "k")); !r.Duplicate || n.checks.Load() != 0 {
			t.Errorf("%+v after %d checks", r, n.checks.Load())
		}
		refused(t, (<-post(h, h.LocalPrincipal("a"), message(id, "2", parley.FinalityTurn, ""))).err, parley.ErrNotYourTurn)
		refused(t, (<-post(h, h.LocalPrincipal("a"), message("absent", "2", parley.FinalityTurn, ""))).err, parley.ErrNotFound)
		_, err := h.Tail(t.Context(), h.LocalPrincipal("a"), &parley.TailParams{ConversationID: id, SinceSeq: 99})
		refused(t, err, parley.ErrCursorAhead)
		_, err = h.Authenticate(t.Context(), "plt_unknown_secret", "")
		refused(t, err, parley.ErrUnauthenticated)
		if got := n.checks.Load(); got != 4 {
			t.Errorf("4 refusals took %d checks", got)
		}
		_, err = h.Authenticate(t.Context(), "nonsense", "")
		refused(t, err, parley.ErrUnauthenticated)
		if got := n.checks.Load(); got != 4 {
			t.Errorf("what is no token took %d checks", got-4)
		}
	})
}

// TestManyRefusalsShareChecks: those who are refused at the same time wait for the same check.
func TestManyRefusalsShareChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, time.Millisecond)
		n, h := c.nodes[1], c.hub(1)
		c.journal.Hold()
		answers := make(chan error, 100)
		for range cap(answers) {
			go func() {
				_, err := h.Authenticate(t.Context(), "plt_unknown_secret", "")
				answers <- err
			}()
		}
		synctest.Wait()
		c.journal.Release()
		for range cap(answers) {
			refused(t, <-answers, parley.ErrUnauthenticated)
		}
		if got := n.checks.Load(); got > 2 {
			t.Errorf("%d refusals at once took %d checks", cap(answers), got)
		}
	})
}

// TestRefusalWithoutJournal: where it cannot be known whether the hub is behind, it refuses nothing for good.
func TestRefusalWithoutJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, time.Millisecond)
		h := c.hub(1)
		c.nodes[1].Pause()
		id := create(t, c.hub(0), c.hub(0).LocalPrincipal("a"), open2("a", "b")) // so that there is something to wait for
		_, err := h.Authenticate(t.Context(), "plt_unknown_secret", "")
		refused(t, err, parley.ErrUnavailable)
		c.nodes[1].Resume()
		if err := h.Ready(); err != nil {
			t.Errorf("not ready: %v", err)
		}
		c.nodes[1].away.Store(true)
		refused(t, h.Ready(), parley.ErrUnavailable)
		c.journal.FailNext(journal.ErrUnavailable)
		refused(t, (<-post(h, h.LocalPrincipal("a"), message(id, "1", parley.FinalityTurn, ""))).err, parley.ErrUnavailable)
		say(t, h, h.LocalPrincipal("a"), message(id, "1", parley.FinalityTurn, ""))
	})
}
