package hub_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
)

// TestRestartEndsNothing: a claim stays current over a restart. Its holder reconnects and finishes,
// with its messages in place (T22: after a restart all look dead).
func TestRestartEndsNothing(t *testing.T) {
	for _, how := range []string{"holding", "named"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJournal(t)
				h := startOn(t, j, counted("x"))
				r := push(t, h, "r1", "a")
				id := asked(t, h, nil)
				c := r.claim()
				half := say(t, h, r.p, message(id, "half", parley.FinalityNone, "k"))
				next := crash(t, j)
				h = startOn(t, next, counted("y"))
				pass(4 * time.Second)
				again := connect(t, h, h.LocalPrincipal("a"))
				if how == "holding" {
					got := again.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"},
						Holding: []string{c.ClaimID}})
					if len(got.Holding) != 1 {
						t.Fatalf("%+v", got)
					}
				}
				if got := say(t, h, again.p, under(message(id, "half", parley.FinalityNone, "k"), c.ClaimID)); !got.Duplicate ||
					got.Seq != half.Seq || got.ClaimID != c.ClaimID {
					t.Fatalf("%+v", got)
				}
				pass(20 * time.Second)
				say(t, h, again.p, message(id, "done", parley.FinalityTurn, ""))
				wantTurns(t, next, id, "claimed(r1 1)", "a:none", "a:turn")
			})
		})
	}
}

// TestRestartWithoutTheHolder: a holder that does not reconnect has its grace period from the start
// of the hub.
func TestRestartWithoutTheHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		push(t, h, "r1", "a").conn.Close()
		r := push(t, h, "r1", "a")
		held := asked(t, h, nil)
		r.claim()
		plain := asked(t, h, &parley.Limits{TurnTimeoutMs: 30_000})
		r.offered()
		if _, err := claimTurn(h, h.LocalPrincipal("a"), parley.ClaimTurnParams{ConversationID: plain, Turn: 1}); err != nil {
			t.Fatal(err)
		}
		pass(29 * time.Second)
		next := crash(t, j)
		startOn(t, next, counted("y"))
		pass(4999 * time.Millisecond)
		wantTurns(t, next, held, "claimed(r1 1)")
		pass(time.Millisecond)
		wantTurns(t, next, held, "claimed(r1 1)", "claim_ended(disconnected)")
		pass(24999 * time.Millisecond)
		// without a connection only the deadline ends it, and this hub has not watched it for that long
		wantTurns(t, next, plain, "claimed( 1)")
		pass(time.Millisecond)
		wantTurns(t, next, plain, "claimed( 1)", "claim_ended(expired)")
	})
}

// TestRestartEndsInternal: a claim of an executor in the hub's process ends when the hub is started again, and that is no attempt.
func TestRestartEndsInternal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		id := asked(t, h, &parley.Limits{MaxAttempts: 1, OnTurnTimeout: parley.TurnClose})
		inside := h.Client(h.LocalPrincipal("a"))
		if _, err := inside.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: id, Turn: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := inside.SendMessage(t.Context(), message(id, "half", parley.FinalityNone, "")); err != nil {
			t.Fatal(err)
		}
		next := crash(t, j)
		h = startOn(t, next, counted("y"))
		r := push(t, h, "r1", "a")
		if c := r.claim(); c.Attempt != 1 {
			t.Fatalf("%+v", c)
		}
		wantTurns(t, next, id, "claimed( 1)", "a:none", "claim_ended(restarted)", "claimed(r1 1)")
	})
}

// TestClaimsWhileDown: what came due while the hub was down is done when it starts; claims have all their time.
func TestClaimsWhileDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		idle := asked(t, h, &parley.Limits{IdleTimeoutMs: 60_000})
		late := asked(t, h, &parley.Limits{DeadlineMs: 60_000})
		over := asked(t, h, &parley.Limits{DeadlineMs: 60_000})
		claimed := asked(t, h, nil)
		a := h.LocalPrincipal("a")
		for _, id := range []string{over, claimed} {
			if _, err := claimTurn(h, a, parley.ClaimTurnParams{ConversationID: id, Turn: 1}); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // in the bubble
		h = startOn(t, j, counted("y"))
		synctest.Wait()
		closedAs(t, j, idle, parley.OutcomeCanceled, parley.ReasonIdleTimeout)
		closedAs(t, j, late, parley.OutcomeCanceled, parley.ReasonDeadline)
		closedAs(t, j, over, parley.OutcomeCanceled, parley.ReasonDeadline)
		wantTurns(t, j, claimed, "claimed( 1)")
		if n := h.Counted(); n.ConversationsOpen != 1 || n.Claims != 1 {
			t.Fatalf("%+v", n)
		}
	})
}

// reading counts what is read of each conversation.
type reading struct {
	journal.Journal
	mu    sync.Mutex // guards the field below
	reads map[string]int
}

func (r *reading) Read(id string, after int64, limit, maxBytes int) ([]journal.Record, error) {
	r.mu.Lock()
	r.reads[id]++
	r.mu.Unlock()
	return r.Journal.Read(id, after, limit, maxBytes)
}

// TestStartReadsNoClosed: a start finds open conversations without reading closed ones.
func TestStartReadsNoClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		var open, closed []string
		for i := range 20 {
			id := asked(t, h, nil)
			if i%5 == 0 {
				open = append(open, id)
				continue
			}
			closed = append(closed, id)
			say(t, h, h.LocalPrincipal("a"), message(id, "bye", parley.FinalityConversation, ""))
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		counts := &reading{Journal: j, reads: make(map[string]int)}
		h = startOn(t, counts, counted("y"))
		synctest.Wait()
		counts.mu.Lock()
		defer counts.mu.Unlock()
		for _, id := range closed {
			if n := counts.reads[id]; n > 0 {
				t.Errorf("a closed conversation was read %d times", n)
			}
		}
		for _, id := range open {
			if counts.reads[id] == 0 {
				t.Error("an open conversation was not read")
			}
		}
		if n := h.Counted().ConversationsOpen; n != 4 {
			t.Errorf("%d are open", n)
		}
	})
}

// TestRestartOnDisk is a restart on a journal on disk: the claim is current, its keys are found,
// and the holder finishes.
func TestRestartOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	begin := func(prefix string) (*hub.Hub, func()) {
		j, err := bolt.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		h, err := hub.Open(j, counted(prefix))
		if err != nil {
			t.Fatal(err)
		}
		return h, func() {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			checkLog(t, j)
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	h, end := begin("x")
	id := asked(t, h, nil)
	r := connect(t, h, h.LocalPrincipal("a"))
	c := r.pull(id, 1)
	var said []parley.SendResult
	for i := range 3 {
		said = append(said, say(t, h, r.p, message(id, fmt.Sprint(i), parley.FinalityNone, fmt.Sprint("k", i))))
	}
	for range 2 {
		end()
		h, end = begin(fmt.Sprint("y", len(said)))
		r = connect(t, h, h.LocalPrincipal("a"))
		for i, first := range said {
			for _, claim := range []string{c.ClaimID, ""} {
				got := say(t, h, r.p, under(message(id, fmt.Sprint(i), parley.FinalityNone, fmt.Sprint("k", i)), claim))
				if !got.Duplicate || got.Seq != first.Seq {
					t.Fatalf("k%d with claim %q: %+v, want seq %d", i, claim, got, first.Seq)
				}
			}
		}
	}
	last := say(t, h, r.p, message(id, "done", parley.FinalityTurn, "end"))
	end()
	h, end = begin("z")
	defer end()
	if got := say(t, h, h.LocalPrincipal("a"), under(message(id, "done", parley.FinalityTurn, "end"),
		c.ClaimID)); !got.Duplicate || got.Seq != last.Seq {
		t.Fatalf("%+v", got)
	}
}
