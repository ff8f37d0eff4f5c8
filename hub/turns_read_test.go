package hub_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// TestMyTurnWhileAnotherWorks: a replica that waits for its turn is not woken by what another one does under its claim (T48: pollers spin).
func TestMyTurnWhileAnotherWorks(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		id := asked(t, h, nil)
		worker, idler := connect(t, h, h.LocalPrincipal("a")), connect(t, h, h.LocalPrincipal("a"))
		c := worker.pull(id, 1)
		answers := make(chan *parley.GetUpdatesResult, 10)
		wait := func(p *hub.Principal) {
			u, _, err := h.GetUpdates(t.Context(), p, &parley.GetUpdatesParams{ConversationID: id, Until: parley.UntilMyTurn, TimeoutMs: 60_000})
			if err != nil {
				t.Error(err)
			}
			answers <- u
		}
		go wait(idler.p)
		for range 5 {
			say(t, h, worker.p, message(id, "progress", parley.FinalityNone, ""))
			synctest.Wait()
			if len(answers) > 0 {
				t.Fatalf("woken while another works: %+v", <-answers)
			}
		}
		go wait(worker.p)
		if u := <-answers; u.Guidance.Kind != parley.MaySpeak || u.TimedOut || u.Guidance.Claim == nil {
			t.Fatalf("the holder: %+v", u)
		}
		if err := release(h, worker.p, id, c.ClaimID, parley.ReleaseDecline); err != nil {
			t.Fatal(err)
		}
		if u := <-answers; u.Guidance.Kind != parley.MaySpeak || u.TimedOut || len(u.Withdrawn) != 1 {
			t.Fatalf("after the claim: %+v", u)
		}
	})
}

// TestWithdrawnIsTold: a reader that has read withdrawn messages is notified once, and another
// reader gets neither.
func TestWithdrawnIsTold(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		id := asked(t, h, nil)
		r, b := connect(t, h, h.LocalPrincipal("a")), h.LocalPrincipal("b")
		updates := func(since int64) (*parley.GetUpdatesResult, int) {
			t.Helper()
			u, events, err := h.GetUpdates(t.Context(), b, &parley.GetUpdatesParams{ConversationID: id, SinceSeq: since})
			if err != nil {
				t.Fatal(err)
			}
			return u, len(events)
		}
		c := say(t, h, r.p, message(id, "half", parley.FinalityNone, ""))
		if c.ClaimID == "" || c.Seq != 3 {
			t.Fatalf("%+v", c)
		}
		if _, err := one(func(done func(parley.SendResult, error)) {
			h.SendTrace(r.p, trace(id, "thinks", ""), done)
		}); err != nil {
			t.Fatal(err)
		}
		u, n := updates(0)
		if n != 1 || len(u.Withdrawn) != 0 {
			t.Fatalf("%+v, %d", u, n)
		}
		cursor := u.NextSeq
		if err := release(h, r.p, id, c.ClaimID, parley.ReleaseFailed); err != nil {
			t.Fatal(err)
		}
		for _, since := range []int64{0, cursor} {
			u, n = updates(since)
			if n != 0 || len(u.Withdrawn) != 1 || u.Withdrawn[0] != (parley.Withdrawn{Turn: 1, FromSeq: 3, ToSeq: 4}) {
				t.Fatalf("since %d: %+v, %d", since, u, n)
			}
		}
		if u, _ = updates(u.NextSeq); len(u.Withdrawn) != 0 {
			t.Fatalf("told again: %+v", u)
		}
		page, err := h.Tail(t.Context(), b, &parley.TailParams{ConversationID: id})
		if err != nil || len(page.Events) != 4 { // raw, except for the trace, which belongs to a
			t.Fatalf("%d events, %v", len(page.Events), err)
		}
	})
}

// TestGuidanceOfClaims: a subscription reports the start and the end of a claim, and no renewals or
// notes.
func TestGuidanceOfClaims(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		id := asked(t, h, &parley.Limits{TurnTimeoutMs: 10_000})
		s, err := h.Subscribe(t.Context(), h.LocalPrincipal("b"), &parley.SubscribeParams{ConversationID: id})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		guidance := func(want int) (last *parley.Guidance) {
			t.Helper()
			synctest.Wait()
			for {
				items, err := s.Poll(t.Context(), 100)
				if err != nil {
					t.Fatal(err)
				}
				if len(items) == 0 {
					break
				}
				for _, i := range items {
					if i.Guidance != nil {
						want--
						last = i.Guidance
					}
				}
			}
			if want != 0 {
				t.Fatalf("%d too few guidance notifications; the last: %+v", want, last)
			}
			return last
		}
		guidance(1)
		r := connect(t, h, h.LocalPrincipal("a"))
		c := r.pull(id, 1)
		if g := guidance(1); g.Claim == nil || g.Claim.AgentID != "a" || g.Kind != parley.Wait {
			t.Fatalf("%+v", g)
		}
		for range 5 {
			pass(6 * time.Second)
			if _, err := renew(h, r.p, id, c.ClaimID); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(turnEvents(t, j, id)); n != 6 {
			t.Fatalf("%d events", n)
		}
		guidance(0)
		if err := release(h, r.p, id, c.ClaimID, parley.ReleaseYield); err != nil {
			t.Fatal(err)
		}
		if g := guidance(1); g.Claim != nil || g.Kind != parley.MaySpeak {
			t.Fatalf("%+v", g)
		}
	})
}

// TestStatsOfTurns compares every number about turns with what was done.
func TestStatsOfTurns(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r := push(t, h, "r1", "a")
		id := asked(t, h, nil)
		r.offered()
		pass(700 * time.Millisecond)
		c := r.pull(id, 1)
		if n := h.Counted(); n.Claims != 1 || n.Executors != 1 || n.ConversationsOpen != 1 || n.ClaimsTaken != 1 || n.Offers != 1 {
			t.Fatalf("%+v", n)
		}
		pass(3 * time.Second)
		say(t, h, r.p, under(message(id, "done", parley.FinalityTurn, ""), c.ClaimID))
		for _, o := range []parley.ReleaseOutcome{parley.ReleaseYield, parley.ReleaseDecline, parley.ReleaseSilent,
			parley.ReleaseFailed} {
			id := asked(t, h, nil)
			if err := release(h, r.p, id, r.pull(id, 1).ClaimID, o); err != nil {
				t.Fatal(err)
			}
		}
		closed := asked(t, h, nil)
		r.pull(closed, 1)
		if _, err := one(func(done func(parley.SeqResult, error)) {
			h.CloseConversation(h.LocalPrincipal("b"), &parley.CloseConversationParams{ConversationID: closed}, done)
		}); err != nil {
			t.Fatal(err)
		}
		n := h.Counted()
		for _, end := range []parley.ClaimEnd{parley.ClaimFinal, parley.ClaimYielded, parley.ClaimDeclined,
			parley.ClaimSilent, parley.ClaimFailed, parley.ClaimClosed} {
			if n.ClaimsEnded[end] != 1 {
				t.Errorf("%s: %d", end, n.ClaimsEnded[end])
			}
		}
		if n.ClaimsTaken != 6 || n.Claims != 0 || n.ConversationsOpen != 5 {
			t.Errorf("%+v", n)
		}
		if n.Turns.Count != 1 || n.Turns.SumMs != 3000 || n.ClaimWaits.Count != 6 || n.ClaimWaits.SumMs != 700 {
			t.Errorf("turns %+v, waits %+v", n.Turns, n.ClaimWaits)
		}
		r.conn.Close()
		if n := h.Counted(); n.Executors != 0 {
			t.Errorf("%d executors", n.Executors)
		}
	})
}
