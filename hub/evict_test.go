package hub_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// TestFewLoaded: 100 conversations in use in random order with room for 8 of them.
func TestFewLoaded(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	j := newJournal(t)
	h := startOn(t, j, &hub.Options{MaxLoaded: 8, IdleEvict: time.Hour})
	ids := make([]string, 100)
	for i := range ids {
		ids[i] = create(t, h, h.LocalPrincipal("a"), &parley.CreateConversationParams{Participants: seats("a", "b")})
	}
	const workers = 8
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			count := make([]int, len(ids)) // turns, of the conversations of this worker
			for range 250 {
				i := rng.IntN(len(ids)/workers)*workers + w
				who := []string{"a", "b"}[count[i]%2]
				q := message(ids[i], fmt.Sprint(count[i]), parley.FinalityTurn, fmt.Sprint("k", count[i]))
				r := <-post(h, h.LocalPrincipal(who), q)
				again := <-post(h, h.LocalPrincipal(who), q)
				if r.err != nil || r.Turn != int64(count[i]+1) || again.err != nil || !again.Duplicate || again.Seq != r.Seq {
					t.Errorf("conversation %d turn %d: %+v, again %+v", i, count[i], r, again)
					return
				}
				count[i]++
			}
		})
	}
	wg.Wait()
	for h.Loaded() > 8 {
		waitBriefly(t)
	}
}

// TestBounded: unused conversations are evicted as soon as there are too many, not only when the
// sweeper's ticker fires.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startOn(t, newJournal(t), &hub.Options{MaxLoaded: 8, IdleEvict: time.Hour})
		a := h.LocalPrincipal("a")
		var ids []string
		for range 100 {
			ids = append(ids, create(t, h, a, open2("a")))
			synctest.Wait()
			if n := h.Loaded(); n > 8 {
				t.Fatalf("%d loaded", n)
			}
		}
		var subs []*hub.Subscription
		for _, id := range ids[:20] {
			s, err := h.Subscribe(t.Context(), a, &parley.SubscribeParams{ConversationID: id})
			if err != nil {
				t.Fatal(err)
			}
			subs = append(subs, s)
		}
		for _, id := range ids {
			say(t, h, a, message(id, "x", parley.FinalityTurn, ""))
		}
		synctest.Wait()
		if n := h.Loaded(); n != 28 {
			t.Fatalf("%d loaded, want 20 in use and 8 more", n)
		}
		for _, s := range subs {
			for n := 0; n < 2; { // each has its conversation's two events
				items, err := s.Next(t.Context(), 10)
				if err != nil {
					t.Fatal(err)
				}
				for _, i := range items {
					if i.Event != nil {
						n++
					}
				}
			}
			s.Close()
		}
		synctest.Wait()
		if n := h.Loaded(); n != 8 {
			t.Fatalf("%d loaded", n)
		}
		<-time.After(3 * time.Hour)
		if n := h.Loaded(); n != 0 {
			t.Fatalf("%d loaded", n)
		}
	})
}

// TestEvictedStillCloses: limits of time hold for conversations that are not in memory.
func TestEvictedStillCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, &hub.Options{MaxLoaded: 1, IdleEvict: time.Second})
		idle := limited(t, h, parley.Limits{IdleTimeoutMs: 60_000})
		deadline := limited(t, h, parley.Limits{DeadlineMs: 90_000})
		<-time.After(50 * time.Second)
		if n := h.Loaded(); n != 0 {
			t.Fatalf("%d loaded", n)
		}
		say(t, h, h.LocalPrincipal("a"), message(idle, "x", parley.FinalityTurn, ""))
		<-time.After(5 * time.Minute)
		closedBy(t, j, idle, parley.ReasonIdleTimeout, 2, 110*time.Second)
		closedBy(t, j, deadline, parley.ReasonDeadline, 1, 90*time.Second)
	})
}

// TestLittleRoom: with room for the frames of few conversations, and then for few conversations, nothing is missing from what is read, and every retry meets its first result.
func TestLittleRoom(t *testing.T) {
	messages := 150
	if testing.Short() {
		messages = 50
	}
	for _, room := range []int{96 << 10, 24 << 10} {
		t.Run(fmt.Sprint(room>>10, " KiB"), func(t *testing.T) {
			h := startOn(t, newJournal(t), &hub.Options{MaxLoadedBytes: room, IdleEvict: time.Hour})
			a := h.LocalPrincipal("a")
			ids := make([]string, 12)
			for i := range ids {
				ids[i] = create(t, h, a, open2("a"))
			}
			var wg sync.WaitGroup
			for w, id := range ids {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(w), 2))
					for n := range messages {
						q := message(id, strings.Repeat("x", 300), parley.FinalityTurn, fmt.Sprint("k", n))
						r := <-post(h, a, q)
						before := rng.IntN(n + 1)
						q.ClientRequestID = fmt.Sprint("k", before)
						again := <-post(h, a, q)
						if r.err != nil || r.Seq != int64(n+2) || again.err != nil || !again.Duplicate || again.Seq != int64(before+2) {
							t.Errorf("message %d of %s: %+v; %d again: %+v", n, id, r, before, again)
							return
						}
						page, err := h.Tail(t.Context(), a, &parley.TailParams{ConversationID: id, SinceSeq: int64(before)})
						if err != nil || len(page.Events) != n+2-before {
							t.Errorf("%d events of %s after %d of %d, %v", len(page.Events), id, before, n+2, err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// slowStates is a journal that keeps a state only when it is let, and counts those that are asked for.
type slowStates struct {
	journal.Journal
	begun, let chan struct{}
	loads      *atomic.Int64
}

func (s slowStates) SaveState(id string, seq int64, state []byte) error {
	s.begun <- struct{}{}
	<-s.let
	return s.Journal.SaveState(id, seq, state)
}

func (s slowStates) LoadState(id string) (int64, []byte, error) {
	s.loads.Add(1)
	return s.Journal.LoadState(id)
}

// TestDroppingIsInNobodysWay: while the state of a conversation is kept, it and all others are as before.
func TestDroppingIsInNobodysWay(t *testing.T) {
	j := slowStates{newJournal(t), make(chan struct{}, 100), make(chan struct{}), new(atomic.Int64)}
	h := startOn(t, j, &hub.Options{IdleEvict: 100 * time.Millisecond})
	a := h.LocalPrincipal("a")
	id := create(t, h, a, open2("a"))
	for range 100 {
		say(t, h, a, message(id, "x", parley.FinalityTurn, ""))
	}
	<-j.begun
	loads := j.loads.Load()
	say(t, h, a, message(id, "x", parley.FinalityTurn, ""))
	if n := j.loads.Load(); n != loads {
		t.Errorf("it was loaded while it was kept")
	}
	other := create(t, h, a, open2("a"))
	say(t, h, a, message(other, "x", parley.FinalityTurn, ""))
	close(j.let)
	say(t, h, a, message(id, "x", parley.FinalityTurn, ""))
}
