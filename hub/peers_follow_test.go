package hub_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// clusters runs a test on three hubs that lag by so much.
func clusters(t *testing.T, run func(t *testing.T, c *cluster)) {
	for _, lag := range []time.Duration{0, 50 * time.Millisecond} {
		t.Run(lag.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { run(t, newCluster(t, 3, lag)) })
		})
	}
}

// TestTokensElsewhere: a token is valid at every hub. Its revocation ends all waits with it within
// a second, at every hub.
func TestTokensElsewhere(t *testing.T) {
	clusters(t, func(t *testing.T, c *cluster) {
		here, there := c.hub(0), c.hub(1)
		id := create(t, here, login(t, here, rootToken), open2("a", "b"))
		parent := hold(t, here, login(t, here, rootToken), ofA)
		child := hold(t, there, login(t, there, parent.token), ofA)
		c.settle()
		p := login(t, c.hub(2), child.token)
		ended := make(chan error, 1)
		go func() {
			_, err := c.hub(2).WaitForChange(t.Context(), p, &parley.WaitForChangeParams{ConversationID: id, SinceSeq: 1, TimeoutMs: 20_000})
			ended <- err
		}()
		synctest.Wait()
		began := time.Now()
		if got := mustRevoke(t, here, login(t, here, rootToken), parent.TokenID); !slices.Equal(got,
			[]string{parent.TokenID, child.TokenID}) {
			t.Errorf("revoked %v", got)
		}
		refused(t, <-ended, parley.ErrUnauthenticated)
		if took := time.Since(began); took > time.Second {
			t.Errorf("it has waited %v more", took)
		}
		pass(time.Second - time.Since(began))
		_, err := there.Authenticate(t.Context(), parent.token, "")
		refused(t, err, parley.ErrUnauthenticated)
	})
}

// TestTokensRace: of a token and the end of its parent, written by two hubs at once, all hubs know the same.
func TestTokensRace(t *testing.T) {
	clusters(t, func(t *testing.T, c *cluster) {
		for range 10 {
			parent := hold(t, c.hub(0), login(t, c.hub(0), rootToken), ofA)
			p := login(t, c.hub(1), parent.token)
			made := make(chan parley.CreateTokenResult, 1)
			go func() {
				r, _ := createToken(c.hub(1), p, ofA) // perhaps refused
				made <- r
			}()
			mustRevoke(t, c.hub(2), login(t, c.hub(2), rootToken), parent.TokenID)
			r := <-made
			c.settle()
			for i := range c.nodes {
				_, err := c.hub(i).Authenticate(t.Context(), r.Token, "")
				refused(t, err, parley.ErrUnauthenticated)
				if all := listAll(t, c.hub(i), login(t, c.hub(i), rootToken)); len(all) != 0 {
					t.Fatalf("hub %d knows %v", i, all)
				}
			}
		}
	})
}

// TestSessionElsewhere: a session that is started at one hub, of an agent that another one's runner has, is offered there, is waited for at the first, and calls back once.
func TestSessionElsewhere(t *testing.T) {
	clusters(t, func(t *testing.T, c *cluster) {
		here, there := c.hub(0), c.hub(1)
		x := hosts(t, there, counter("count"))
		id := team(t, here, parley.PolicyOpen)
		c.settle()
		waited := make(chan *parley.Session, 1)
		go func() { waited <- start(t, here, here.LocalPrincipal("a"), counts("count", 1, parley.ModeSync, id)) }()
		pass(300 * time.Millisecond)
		if s := x.works("forty-two"); s == "" {
			t.Fatal("no session")
		}
		if s := <-waited; s.Status != parley.SessionCompleted || s.TimedOut {
			t.Errorf("%+v", s)
		}
		s := start(t, here, here.LocalPrincipal("a"), counts("count", 2, parley.ModeAsyncCallback, id))
		pass(300 * time.Millisecond)
		x.works("again")
		c.settle()
		if n := c.moved(); n > 0 {
			t.Errorf("%d batches came too late: the hubs are in each other's way", n)
		}
		if told := toldIDs(t, c.journal, id); len(told) != 1 || !slices.Equal(told[0], []string{s.SessionID}) {
			t.Errorf("callbacks %v, want one of %s", told, s.SessionID)
		}
		if got := c.count(id, parley.KindSessionStarted); got != 2 {
			t.Errorf("%d starts of 2 sessions: %v", got, children(t, c.journal, id))
		}
		if got := c.count(id, parley.KindSessionEnded); got != 2 {
			t.Errorf("%d ends of 2 sessions: %v", got, children(t, c.journal, id))
		}
	})
}

// TestStopElsewhere: a session can be stopped at any hub, and its runner is notified at its hub.
func TestStopElsewhere(t *testing.T) {
	clusters(t, func(t *testing.T, c *cluster) {
		here, there := c.hub(0), c.hub(1)
		x := hosts(t, there, counter("count"))
		c.settle()
		s := start(t, here, here.LocalPrincipal("h"), counts("count", 1, parley.ModeAsyncPoll, ""))
		pass(time.Second)
		x.claim()
		got, err := here.StopSession(t.Context(), here.LocalPrincipal("h"), &parley.StopSessionParams{SessionID: s.SessionID})
		if err != nil || got.Status != parley.SessionStopped {
			t.Fatalf("%+v, %v", got, err)
		}
		pass(time.Second)
		if ends := x.ended(); len(ends) != 1 {
			t.Errorf("its runner was told %+v", ends)
		}
	})
}

// TestRunnerGone: a session whose runner is gone fails with the seed's words, whichever hub it was connected to; one whose runner is back in time, at another hub, ends as that says.
func TestRunnerGone(t *testing.T) {
	for name, back := range map[string]bool{"gone": false, "back elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			clusters(t, func(t *testing.T, c *cluster) {
				here, there := c.hub(0), c.hub(1)
				q := parley.RegisterExecutorParams{ExecutorID: "box", Capacity: 4, GraceMs: 500}
				x := arrive(t, there, "ops", q)
				x.says(counter("count"))
				c.settle()
				s := start(t, here, here.LocalPrincipal("h"), counts("count", 1, parley.ModeAsyncPoll, ""))
				pass(time.Second)
				claim := x.claim().ClaimID
				x.conn.Close()
				pass(time.Second) // the time of the claim is short now
				want := "Runner disconnected during execution"
				if back {
					q.Holding = []string{claim}
					y := arrive(t, here, "ops", q)
					want = "boom"
					release := &parley.ReleaseClaimParams{ConversationID: s.SessionID, ClaimID: claim, Outcome: parley.ReleaseFailed, Reason: want}
					if _, err := one(func(done func(parley.EmptyResult, error)) {
						here.ReleaseClaim(y.p, release, done)
					}); err != nil {
						t.Fatal(err)
					}
				}
				pass(3 * time.Second)
				reason := parley.ReasonInterrupted
				if back {
					reason = parley.ReasonAttempts
				}
				failsAs(t, here, here.LocalPrincipal("h"), s.SessionID, reason, want)
				if n := c.count(s.SessionID, parley.KindClaimRenewed); n < 1 {
					t.Error("the time of the claim was not made short")
				}
			})
		})
	}
}

// TestErrandsOfAnother: another hub does the follow-up work of an event within two seconds if the
// hub that wrote it does not.
func TestErrandsOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, time.Millisecond)
		here, there := c.hub(0), c.hub(1)
		x := hosts(t, there, counter("count"))
		id := team(t, here, parley.PolicyOpen)
		c.settle()
		s := start(t, here, here.LocalPrincipal("a"), counts("count", 1, parley.ModeAsyncCallback, id))
		pass(time.Second)
		o := x.oneOffer()
		x.take(o.ConversationID, o.ClaimID)
		c.nodes[1].Pause() // it never knows that its own append is committed
		post(there, x.p, closing(o.ConversationID, o.ClaimID, parley.OutcomeCompleted, ran("1")))
		pass(2 * time.Second)
		if told := toldIDs(t, c.journal, id); len(told) != 1 || !slices.Equal(told[0], []string{s.SessionID}) {
			t.Errorf("callbacks %v, want one of %s", told, s.SessionID)
		}
		c.nodes[1].Resume()
		c.settle()
		if told := toldIDs(t, c.journal, id); len(told) != 1 {
			t.Errorf("callbacks %v, want one", told)
		}
	})
}

// TestTriggersElsewhere: an event that triggers an agent whose runner is at another hub starts one
// session with one answer, whichever hub wrote it.
func TestTriggersElsewhere(t *testing.T) {
	clusters(t, func(t *testing.T, c *cluster) {
		x := listeners(t, c.hub(2), listens("calc", onSchema("s.v1")))
		id := create(t, c.hub(0), c.hub(0).LocalPrincipal("ann"), hall("calc"))
		c.settle()
		for i := range c.nodes {
			noting(t, c.hub(i), c.hub(i).LocalPrincipal("ann"), id, "s.v1", fmt.Sprintf(`{"input":{"n":%d}}`, i+1))
			pass(time.Second)
			x.works(fmt.Sprint(i))
			c.settle()
		}
		if n := c.moved(); n > 0 {
			t.Errorf("%d batches came too late: the hubs are in each other's way", n)
		}
		answers, _ := answered(t, c.journal, id)
		if len(answers) != 3 || c.count(id, parley.KindSessionStarted) > 3 {
			t.Errorf("%d answers to 3 events: %v", len(answers), storyOf(t, c.journal, id, 1))
		}
	})
}

// TestTimersOnce: all hubs know what is due, and one acts. The others do not try.
func TestTimersOnce(t *testing.T) {
	clusters(t, func(t *testing.T, c *cluster) {
		const many = 30
		for i := range many {
			q := open2("a", "b")
			q.ConversationID, q.Limits = fmt.Sprint("idle", i), &parley.Limits{IdleTimeoutMs: 10_000}
			create(t, c.hub(i%3), c.hub(i%3).LocalPrincipal("a"), q)
		}
		c.settle()
		before := c.writes()
		pass(10 * time.Second)
		for i := range many {
			log := events(t, c.journal, fmt.Sprint("idle", i))
			if last := log[len(log)-1]; len(log) != 2 || last.Finality != parley.FinalityConversation ||
				last.At.Time().Sub(log[0].At.Time()) > 11*time.Second {
				t.Errorf("%d events, the last is %s", len(log), last.Raw())
			}
		}
		if got := c.writes() - before; got != many {
			t.Errorf("%d closes took %d tries", many, got)
		}
	})
}

// TestTimersOfAnother: if the hub that acts first does not, the next one does soon after.
func TestTimersOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, time.Millisecond)
		for i := range 10 {
			q := open2("a", "b")
			q.ConversationID, q.Limits = fmt.Sprint("idle", i), &parley.Limits{IdleTimeoutMs: 10_000}
			create(t, c.hub(0), c.hub(0).LocalPrincipal("a"), q)
		}
		c.settle()
		c.nodes[0].peer.Cut(true) // it is still taken to be there, for a while
		pass(5 * time.Second)
		if err := c.hub(0).Close(); err != nil {
			t.Error(err)
		}
		pass(3 * time.Second)
		for i := range 10 {
			if log := events(t, c.journal, fmt.Sprint("idle", i)); len(log) != 2 {
				t.Errorf("%d events", len(log))
			}
		}
	})
}

// writes counts the batches that the hubs have submitted.
func (c *cluster) writes() (n int64) {
	for _, node := range c.nodes {
		n += node.writes.Load()
	}
	return n
}

// moved counts the batches with events that came too late.
func (c *cluster) moved() (n int64) {
	for _, node := range c.nodes {
		n += node.moved.Load()
	}
	return n
}

// TestTriggerBegunElsewhere: a hub that learns late that another one started the session of a match
// does not treat the match as failed.
func TestTriggerBegunElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, 10*time.Millisecond)
		x := listeners(t, c.hub(0), listens("calc", onSchema("s.v1")))
		id := create(t, c.hub(0), c.hub(0).LocalPrincipal("ann"), hall("calc"))
		c.settle()
		at := c.journal.Last()
		noting(t, c.hub(0), c.hub(0).LocalPrincipal("ann"), id, "s.v1", `{"input":{"n":1}}`)
		records, err := c.journal.Scan(at, 10, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if r.Conversation != id {
				break
			}
			at = r.Position
		}
		c.nodes[1].PauseAt(at) // it sees the note, and not the session
		before := c.nodes[1].writes.Load()
		pass(2 * time.Second)
		if c.nodes[1].writes.Load() == before {
			t.Fatal("the other hub has not tried to begin it: this test shows nothing")
		}
		c.nodes[1].Resume()
		c.settle()
		o := x.offered()[0]
		x.take(o.ConversationID, o.ClaimID)
		x.ends(o.ConversationID, o.ClaimID, parley.OutcomeCompleted, ran("1"))
		c.settle()
		answers, _ := answered(t, c.journal, id)
		if len(answers) != 1 || answers[0].Status != parley.SessionCompleted {
			t.Errorf("answers %+v: %v", answers, storyOf(t, c.journal, id, 1))
		}
	})
}

// TestReadersElsewhere: readers and watchers at one hub get what another one wrote.
func TestReadersElsewhere(t *testing.T) {
	clusters(t, func(t *testing.T, c *cluster) {
		here, there := c.hub(0), c.hub(1)
		id := create(t, here, here.LocalPrincipal("a"), open2("a", "b"))
		kept := create(t, here, login(t, here, rootToken), &parley.CreateConversationParams{ConversationID: "~a2a.x",
			Participants: seats("admin")})
		c.settle()
		watch := follows(t, there, there.LocalPrincipal("b"))
		told := make(chan int64, 2)
		for _, one := range []string{id, kept} {
			go func() {
				r, err := there.WaitForChange(t.Context(), login(t, there, rootToken),
					&parley.WaitForChangeParams{ConversationID: one, SinceSeq: 1, TimeoutMs: 20_000})
				if err != nil {
					t.Error(err)
				}
				told <- r.LatestSeq
			}()
		}
		synctest.Wait()
		say(t, here, here.LocalPrincipal("a"), message(id, "1", parley.FinalityTurn, ""))
		noting(t, here, login(t, here, rootToken), kept, "s", `1`)
		if a, b := <-told, <-told; a != 2 || b != 2 {
			t.Errorf("told %d and %d", a, b)
		}
		pass(time.Second)
		if got := watch.look(); !slices.Equal(got, []string{id + "/2"}) {
			t.Errorf("changed %v", got)
		}
		list, err := there.ListConversations(t.Context(), there.LocalPrincipal("b"), &parley.ListConversationsParams{})
		if err != nil || len(list.Conversations) != 1 || list.Conversations[0].LatestSeq != 2 {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// TestApprovalsElsewhere: an approval that is asked for at one hub is listed and answered at another one, once.
func TestApprovalsElsewhere(t *testing.T) {
	clusters(t, func(t *testing.T, c *cluster) {
		here, there := c.hub(0), c.hub(1)
		id := create(t, here, here.LocalPrincipal("h"), &parley.CreateConversationParams{
			Participants: append(seatsOf(parley.KindAgent, "a"), seatsOf(parley.KindHuman, "h", "i")...),
		})
		claim := mustClaim(t, here, "a", id, 1)
		asks(t, here, here.LocalPrincipal("a"), underClaim(claim.ClaimID, may(id, "k")))
		c.settle()
		answers := make(chan error, 2)
		answer := func(h *hub.Hub, who string) func() {
			p := h.LocalPrincipal(who, parley.ScopeApprove, parley.ScopeRead)
			list, err := h.ListApprovals(t.Context(), p, &parley.ListApprovalsParams{})
			if err != nil || len(list.Approvals) != 1 {
				t.Fatalf("listed %+v, %v", list, err)
			}
			return func() {
				_, err := h.ResolveApproval(t.Context(), p, &parley.ResolveApprovalParams{ApprovalID: list.Approvals[0].ApprovalID,
					Decision: parley.DecisionApproved})
				answers <- err
			}
		}
		h, i := answer(there, "h"), answer(c.hub(2), "i")
		go h()
		go i()
		first, second := <-answers, <-answers
		if first != nil {
			first, second = second, first
		}
		if first != nil {
			t.Fatal(first, second)
		}
		refused(t, second, parley.ErrAlreadyResolved)
		if got := c.count(id, parley.KindApprovalResolved); got != 1 {
			t.Errorf("it was resolved %d times", got)
		}
	})
}

// TestBusyCluster: hubs that write to one conversation at the same time lose nothing, and say everything once.
func TestBusyCluster(t *testing.T) {
	clusters(t, func(t *testing.T, c *cluster) {
		id := create(t, c.hub(0), c.hub(0).LocalPrincipal("a"), open2("a", "b"))
		const each = 30
		done := make(chan error, 3*each)
		for i := range c.nodes {
			for k := range each {
				h := c.hub(i)
				h.SendNote(h.LocalPrincipal("a"), note(id, fmt.Sprint(i, k), fmt.Sprint(i, ".", k)),
					func(_ parley.SeqResult, err error) { done <- err })
			}
		}
		for range 3 * each {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		c.settle()
		for i := range c.nodes {
			s, err := c.hub(i).Client(c.hub(i).LocalPrincipal("b")).GetConversation(context.Background(),
				&parley.GetConversationParams{ConversationID: id})
			if err != nil || s.LatestSeq != 1+3*each || strings.Trim(s.HeadHash, "0") == "" {
				t.Errorf("hub %d: %+v, %v", i, s, err)
			}
		}
	})
}
