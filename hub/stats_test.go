package hub_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// TestStatsCount drives a hub and compares every number with what was done.
func TestStatsCount(t *testing.T) {
	pipelined(t, parley.PolicyOpen, func(t *testing.T, h *hub.Hub, j *memory.Journal, a, b *hub.Principal, id string) {
		say(t, h, a, message(id, "one", parley.FinalityTurn, "k-1"))
		say(t, h, a, message(id, "one", parley.FinalityTurn, "k-1")) // a duplicate
		refusedMessage(t, h, a, message(id, "other", parley.FinalityTurn, "k-1"), parley.ErrIdempotencyConflict)
		for _, d := range []time.Duration{250 * time.Microsecond, 3 * time.Millisecond, 20 * time.Second} {
			j.Hold()
			answer := post(h, b, message(id, "slow", parley.FinalityTurn, ""))
			time.Sleep(d)
			j.Release()
			if r := <-answer; r.err != nil {
				t.Fatal(r.err)
			}
		}
		if _, err := one(func(done func(parley.SendResult, error)) { h.SendTrace(a, trace(id, "t", ""), done) }); err != nil {
			t.Fatal(err)
		}
		j.FailNext(journal.ErrStorageFull)
		refusedMessage(t, h, a, message(id, "lost", parley.FinalityTurn, ""), parley.ErrStorageFull)
		create(t, h, a, open2("a", "c"))

		got := h.Counted()
		want := parley.Stats{
			Version: "0.0.0", State: parley.HubReady, UptimeMs: 20_003, Duplicates: 1, Refusals: map[string]int64{},
			EventsAppended: map[parley.EventType]int64{parley.TypeMessage: 4, parley.TypeTrace: 1, parley.TypeSystem: 2},
			Append: parley.Durations{
				Count: 7, SumMs: 20_003.25, BoundsMs: []float64{0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000},
				Buckets: []int64{5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6},
			},
			Turns: parley.Durations{BoundsMs: got.Turns.BoundsMs, Buckets: make([]int64,
				len(got.Turns.BoundsMs))}, ClaimsEnded: map[parley.ClaimEnd]int64{},
			ConversationsOpen: 2, ConversationsLoaded: 2, JournalBytes: j.Size(),
		}
		want.ClaimWaits = want.Turns
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("counted (-want +got):\n%s", d)
		}
	})
}

func refusedMessage(t *testing.T, h *hub.Hub, p *hub.Principal, q *parley.SendMessageParams, sentinel error) {
	t.Helper()
	refused(t, (<-post(h, p, q)).err, sentinel)
}

// TestStatsLag: the lag of a subscription counts all events that it has not examined, also those
// that its reader may not see, and ends with it.
func TestStatsLag(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	a := h.LocalPrincipal("a")
	id := create(t, h, a, open2("a", "b"))
	lag := func(count, most, sum int64) {
		t.Helper()
		if n := h.Counted(); n.Subscribers != count || n.MaxLag != most || n.SumLag != sum {
			t.Errorf("%d subscribers, lag %d and %d; expected %d, %d and %d", n.Subscribers, n.MaxLag, n.SumLag, count, most, sum)
		}
	}
	lag(0, 0, 0)
	subscribe := func(since int64) *hub.Subscription {
		s, err := h.Subscribe(t.Context(), a, &parley.SubscribeParams{ConversationID: id, SinceSeq: since})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	read := func(s *hub.Subscription, n int) {
		t.Helper()
		if _, err := s.Poll(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	first, second := subscribe(0), subscribe(1)
	lag(2, 1, 1)
	for range 4 {
		say(t, h, a, message(id, "hello", parley.FinalityTurn, ""))
	}
	lag(2, 5, 9)
	read(first, 2)
	lag(2, 4, 7)
	read(first, 100)
	lag(2, 4, 4)
	read(second, 100)
	lag(2, 0, 0)
	say(t, h, a, message(id, "hello", parley.FinalityTurn, ""))
	first.Close()
	first.Close()
	lag(1, 1, 1)
	second.Close()
	lag(0, 0, 0)
}

// TestStatsState: stats report a full storage, a drain and a failed log. Only a serving hub answers
// the method.
func TestStatsState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, nil)
		a, admin := h.LocalPrincipal("a"), h.LocalPrincipal("admin", parley.ScopeAdmin)
		id := create(t, h, a, open2("a", "b"))
		state := func(want parley.HubState, sentinel error) {
			t.Helper()
			if got := h.Counted().State; got != want {
				t.Errorf("the state is %s, expected %s", got, want)
			}
			n, err := h.Stats(t.Context(), admin, &parley.StatsParams{})
			if !errors.Is(err, sentinel) || err == nil && n.State != want {
				t.Errorf("stats: %s, %v; expected %s, %v", n.State, err, want, sentinel)
			}
		}
		state(parley.HubReady, nil)
		j.FailNext(journal.ErrStorageFull)
		refusedMessage(t, h, a, message(id, "lost", parley.FinalityTurn, ""), parley.ErrStorageFull)
		state(parley.HubStorageFull, nil)
		time.Sleep(10 * time.Second)
		state(parley.HubReady, nil)
		j.FailNext(journal.ErrOutcomeUnknown)
		refusedMessage(t, h, a, message(id, "lost", parley.FinalityTurn, ""), parley.ErrOutcomeUnknown)
		state(parley.HubFailed, parley.ErrUnavailable)
		h.Drain()
		state(parley.HubFailed, parley.ErrUnavailable)
	})
	h := startOn(t, newJournal(t), nil)
	h.Drain()
	if got := h.Counted().State; got != parley.HubDraining {
		t.Errorf("the state of a hub that drains is %s", got)
	}
}

// TestStatsAreForAdmins: a hub's numbers are of everybody's conversations.
func TestStatsAreForAdmins(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	for _, scope := range parley.Scopes {
		_, err := h.Stats(t.Context(), h.LocalPrincipal("a", scope), &parley.StatsParams{})
		if scope == parley.ScopeAdmin && err != nil {
			t.Errorf("an admin is refused: %v", err)
		}
		if scope != parley.ScopeAdmin {
			refused(t, err, parley.ErrForbidden)
		}
	}
}

// stuck is a journal whose reads hang while a test wants that.
type stuck struct {
	journal.Journal
	reads   chan struct{} // gets one value for each read that hangs
	release atomic.Pointer[chan struct{}]
}

func (s *stuck) Read(conversation string, after int64, limit, maxBytes int) ([]journal.Record, error) {
	if release := s.release.Load(); release != nil {
		s.reads <- struct{}{}
		<-*release
	}
	return s.Journal.Read(conversation, after, limit, maxBytes)
}

// TestStatsWaitForNoConversation: the reload of a conversation, which may take long, does not block
// the statistics.
func TestStatsWaitForNoConversation(t *testing.T) {
	inner := newJournal(t)
	j := &stuck{Journal: inner, reads: make(chan struct{}, 10)}
	h := startOn(t, j, nil)
	a := h.LocalPrincipal("a")
	id := create(t, h, a, open2("a", "b"))
	s, err := h.Subscribe(t.Context(), a, &parley.SubscribeParams{ConversationID: id})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	release := make(chan struct{})
	j.release.Store(&release)
	inner.FailNext(journal.ErrStorageFull)
	refusedMessage(t, h, a, message(id, "lost", parley.FinalityTurn, ""), parley.ErrStorageFull)
	<-j.reads // with the mutex of the conversation held
	counted := make(chan parley.Stats, 1)
	go func() { counted <- h.Counted() }()
	select {
	case n := <-counted:
		if n.Subscribers != 1 || n.MaxLag != 1 {
			t.Errorf("counted: %+v", n)
		}
	case <-time.After(2 * time.Minute):
		t.Error("the numbers wait for a conversation")
	}
	j.release.Store(nil)
	close(release)
}
