package hub_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// TestFewLoaded: 100 conversations in use in random order with room for 8 of them.
func TestFewLoaded(t *testing.T) {
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

// TestBounded: what nobody uses is dropped as soon as it is too much, not only when the sweeper's time has come.
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
