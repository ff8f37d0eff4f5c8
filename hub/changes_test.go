package hub_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// follower reads what has changed as one participant.
type follower struct {
	t      testing.TB
	h      *hub.Hub
	p      *hub.Principal
	params parley.WatchConversationsParams
}

// follows begins now.
func follows(t testing.TB, h *hub.Hub, p *hub.Principal) *follower {
	t.Helper()
	f := &follower{t: t, h: h, p: p}
	if got := f.look(); len(got) != 0 {
		t.Fatalf("told without a cursor: %v", got)
	}
	return f
}

// ask is one call.
func (f *follower) ask() *parley.WatchConversationsResult {
	f.t.Helper()
	r, err := f.h.WatchConversations(context.Background(), f.p, &f.params)
	if err != nil {
		f.t.Fatal(err)
	}
	f.params.Cursor = r.Cursor
	return r
}

// look returns the ids and seqs of the conversations that changed since the last look.
func (f *follower) look() []string {
	f.t.Helper()
	out := []string{}
	for {
		r := f.ask()
		if r.Reset {
			return append(out, "reset")
		}
		for _, s := range r.Conversations {
			out = append(out, fmt.Sprintf("%s/%d", s.ConversationID, s.LatestSeq))
		}
		if !r.More {
			return out
		}
	}
}

// wants fails the test unless the next look returns these.
func (f *follower) wants(want ...string) {
	f.t.Helper()
	if got := f.look(); !slices.Equal(got, append([]string{}, want...)) {
		f.t.Fatalf("%s is told %.1000q, want %q", f.p.AgentID, fmt.Sprint(got), want)
	}
}

// named is a conversation of a and b under an id.
func named(t testing.TB, h *hub.Hub, id string, ids ...string) string {
	t.Helper()
	q := open2(ids...)
	q.ConversationID = id
	return create(t, h, h.LocalPrincipal(ids[0]), q)
}

// TestChanges: each changed conversation is returned once, in its current state, the oldest change
// first, for any size of a page.
func TestChanges(t *testing.T) {
	for _, limit := range []int{0, 1, 2, 100} {
		inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
			a := h.LocalPrincipal("a")
			one, two, three := named(t, h, "one", "a", "b"), named(t, h, "two", "a", "b"), named(t, h, "three", "a", "b")
			f := follows(t, h, a)
			f.params.Limit = limit
			f.wants()
			say(t, h, a, message(one, "1", parley.FinalityTurn, ""))
			say(t, h, a, message(two, "2", parley.FinalityTurn, ""))
			say(t, h, a, message(one, "3", parley.FinalityTurn, ""))
			f.wants("two/2", "one/3")
			f.wants()
			if _, err := one1(h, a, three); err != nil {
				t.Fatal(err)
			}
			say(t, h, a, message(one, "bye", parley.FinalityConversation, ""))
			say(t, h, a, message(two, "2", parley.FinalityTurn, ""))
			f.wants("three/2", "one/4", "two/3")
			f.wants()
		})
	}
}

// one1 writes a note, which is a change too.
func one1(h *hub.Hub, p *hub.Principal, id string) (parley.SeqResult, error) {
	return one(func(done func(parley.SeqResult, error)) { h.SendNote(p, note(id, "n", ""), done) })
}

// TestChangesOfOthers: a change of a conversation that the caller cannot list is not returned and
// ends no wait. A conversation that becomes visible is returned.
func TestChangesOfOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := h.LocalPrincipal("x").WithWorkspaces("w")
		foreign, shared := named(t, h, "foreign", "x", "y"), ""
		{
			q := open2("x", "y")
			q.Workspace, q.ConversationID = "w", "shared"
			shared = create(t, h, x, q)
		}
		admin, a, reader := follows(t, h, root(h)), follows(t, h, h.LocalPrincipal("a")), follows(t, h,
			h.LocalPrincipal("a").WithWorkspaces("w"))
		reader.params.Workspace = "w"
		narrow := follows(t, h, mustToken(t, h, root(h), parley.CreateTokenParams{AgentID: "x",
			Conversations: []string{"shared"}}))
		waiting := make(chan *parley.WatchConversationsResult, 1)
		go func() {
			q := a.params
			q.TimeoutMs = 30_000
			r, err := h.WatchConversations(t.Context(), a.p, &q)
			if err != nil {
				t.Error(err)
			}
			waiting <- r
		}()
		for range 3 {
			say(t, h, x, message(foreign, "1", parley.FinalityTurn, ""))
			say(t, h, x, message(shared, "1", parley.FinalityTurn, ""))
			pass(time.Second)
		}
		if len(waiting) > 0 {
			t.Fatalf("woken by what is not its own: %+v", <-waiting)
		}
		a.wants()
		admin.wants("foreign/4", "shared/4")
		reader.wants("shared/4")
		narrow.wants("shared/4")
		if _, err := one(func(done func(parley.SeqResult, error)) {
			h.AddParticipant(x, &parley.AddParticipantParams{ConversationID: foreign,
				Participant: parley.Participant{ID: "a", Kind: parley.KindPeer}}, done)
		}); err != nil {
			t.Fatal(err)
		}
		if r := <-waiting; len(r.Conversations) != 1 || r.Conversations[0].ConversationID != foreign || r.TimedOut {
			t.Fatalf("%+v", r)
		}
		a.wants("foreign/5")
		q := &parley.WatchConversationsParams{Workspace: "v"}
		_, err := h.WatchConversations(t.Context(), reader.p, q)
		refused(t, err, parley.ErrForbidden)
	})
}

// TestChangesWait: a wait ends a moment after a change, which is committed then, and at its time; with the token and the hub it ends at once.
func TestChangesWait(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		a := h.LocalPrincipal("a")
		id := named(t, h, "one", "a", "b")
		f := follows(t, h, a)
		f.params.TimeoutMs = 10_000
		begin := time.Now()
		if r := f.ask(); !r.TimedOut || len(r.Conversations) > 0 || time.Since(begin) != 10*time.Second {
			t.Fatalf("%+v after %v", r, time.Since(begin))
		}
		time.AfterFunc(time.Second, func() {
			for i := range 3 {
				say(t, h, a, message(id, fmt.Sprint(i), parley.FinalityTurn, ""))
			}
		})
		begin = time.Now()
		if r := f.ask(); r.TimedOut || len(r.Conversations) != 1 || r.Conversations[0].LatestSeq != 4 ||
			time.Since(begin) > 1100*time.Millisecond {
			t.Fatalf("%+v after %v", r, time.Since(begin))
		}
		say(t, h, a, message(id, "before", parley.FinalityTurn, ""))
		begin = time.Now()
		if r := f.ask(); len(r.Conversations) != 1 || time.Since(begin) != 0 {
			t.Fatalf("what was there already: %+v after %v", r, time.Since(begin))
		}

		bearer := mustToken(t, h, root(h), parley.CreateTokenParams{AgentID: "a"})
		ended := make(chan error, 2)
		wait := func(p *hub.Principal) {
			_, err := h.WatchConversations(context.Background(), p, &parley.WatchConversationsParams{Cursor: f.params.Cursor, TimeoutMs: 60_000})
			ended <- err
		}
		go wait(bearer)
		synctest.Wait()
		mustRevoke(t, h, root(h), bearer.TokenID)
		refused(t, <-ended, parley.ErrUnauthenticated)
		go wait(a)
		synctest.Wait()
		h.Drain()
		refused(t, <-ended, parley.ErrUnavailable)
	})
}

// TestChangesCommitted: an event that is not committed is no change, for a read and for a wait.
func TestChangesCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, nil)
		a := h.LocalPrincipal("a")
		id := named(t, h, "one", "a", "b")
		f := follows(t, h, a)
		waits := *f
		waits.params.TimeoutMs = 60_000
		told := make(chan *parley.WatchConversationsResult, 1)
		go func() { told <- waits.ask() }()
		j.Hold()
		t.Cleanup(j.Release)
		answer := post(h, a, message(id, "1", parley.FinalityTurn, ""))
		pass(time.Second)
		f.wants()
		if len(told) > 0 {
			t.Fatalf("woken before the commit: %+v", <-told)
		}
		j.Release()
		<-answer
		f.wants("one/2")
		if r := <-told; len(r.Conversations) != 1 || r.Conversations[0].LatestSeq != 2 {
			t.Fatalf("%+v", r)
		}
	})
}

// TestChangesRaces: a reader misses no concurrent write. In a bubble, only a wait that misses a
// wake-up moves the clock by a minute.
func TestChangesRaces(t *testing.T) {
	const writers, each = 8, 25
	for round := range 20 {
		inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
			a := h.LocalPrincipal("a")
			f := follows(t, h, a)
			f.params.TimeoutMs, f.params.Limit = 60_000, 1+round%5
			for w := range writers {
				go func() {
					id := named(t, h, fmt.Sprint("c", w), "a", "b")
					for i := range each {
						say(t, h, a, message(id, fmt.Sprint(i), parley.FinalityTurn, ""))
					}
				}()
			}
			seen := map[string]int64{}
			for whole := 0; whole < writers; {
				r := f.ask()
				if r.TimedOut || r.Reset {
					t.Fatalf("%+v where %v was seen", r, seen)
				}
				for _, s := range r.Conversations {
					last := seen[s.ConversationID]
					if s.LatestSeq < last {
						t.Fatalf("%s is told at %d after %d", s.ConversationID, s.LatestSeq, last)
					}
					if seen[s.ConversationID] = s.LatestSeq; s.LatestSeq == each+1 && last < s.LatestSeq {
						whole++
					}
				}
			}
		})
	}
}

// TestChangesBusy: however much is written, one who waits looks no more often than every 50 ms, and once more at what came while it looked.
func TestChangesBusy(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		a := h.LocalPrincipal("a")
		id := named(t, h, "one", "a", "b")
		f := follows(t, h, a)
		f.params.TimeoutMs = 10_000
		go func() {
			for range 500 {
				say(t, h, a, message(id, "x", parley.FinalityTurn, ""))
				time.Sleep(2 * time.Millisecond)
			}
		}()
		begin, calls := time.Now(), 0
		for last := int64(0); last < 501; calls++ {
			r := f.ask()
			// a conversation that changes during the read is returned again
			if len(r.Conversations) != 1 || r.Conversations[0].LatestSeq < last {
				t.Fatalf("after %d: %+v", last, r)
			}
			last = r.Conversations[0].LatestSeq
		}
		if took := time.Since(begin); calls > 44 || took > 1100*time.Millisecond {
			t.Errorf("%d calls in %v", calls, took)
		}
	})
}

// TestChangesReset: a cursor of another start, or one that is too old, is reset. All later changes
// are returned again.
func TestChangesReset(t *testing.T) {
	if testing.Short() {
		t.Skip("left out: it creates 10,000 conversations one after another")
	}
	j := newJournal(t)
	before := startOn(t, j, nil)
	id := named(t, before, "one", "a", "b")
	f := follows(t, before, before.LocalPrincipal("a"))
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	f.h = startOn(t, j, nil)
	f.p = f.h.LocalPrincipal("a")
	f.params.TimeoutMs = 60_000 // it is not waited for
	f.wants("reset")
	f.params.TimeoutMs = 0
	f.wants()
	say(t, f.h, f.p, message(id, "1", parley.FinalityTurn, ""))
	f.wants("one/2")

	x := follows(t, f.h, f.h.LocalPrincipal("x"))
	old := x.params
	for i := range 10_000 {
		named(t, f.h, fmt.Sprintf("c%d", i), "x")
	}
	f.wants() // one is forgotten, and its change was seen
	if got := x.look(); len(got) != 10_000 || got[0] != "c0/1" || got[9999] != "c9999/1" {
		t.Fatalf("%d are told", len(got))
	}
	say(t, f.h, x.p, message("c0", "1", parley.FinalityTurn, ""))
	x.wants("c0/2")
	x.params = old
	named(t, f.h, "last", "x")
	x.wants("reset")
	x.wants()
	for _, cursor := range []string{"x", "1", ".", "e.x", "e.-1", f.params.Cursor + "9"} {
		_, err := f.h.WatchConversations(t.Context(), x.p, &parley.WatchConversationsParams{Cursor: cursor})
		refused(t, err, parley.ErrValidationFailed)
	}
}
