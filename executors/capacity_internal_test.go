package executors

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestRoom: no more turns are worked on than there is room for, who comes first is served first, and a turn that goes on is never held up.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(2)
		var in []int
		begin := func(n int) {
			go func() {
				if err := r.enter(t.Context()); err != nil {
					t.Error(err)
				}
				in = append(in, n)
			}()
			synctest.Wait()
		}
		expect := func(what string, n int) {
			t.Helper()
			synctest.Wait()
			if len(in) != n {
				t.Fatalf("%s: %v have entered, expected %d of them", what, in, n)
			}
		}
		for n := range 5 {
			begin(n)
		}
		expect("at first", 2)
		r.leave() // the first waits for a session of its own
		expect("one waits", 3)
		r.press() // and goes on beside the two others
		expect("it goes on", 3)
		r.leave()
		expect("one of three has ended", 3)
		r.leave()
		expect("two of three have ended", 4)
		r.leave()
		expect("another has ended", 5)
		for i, n := range in {
			if i != n {
				t.Errorf("they have entered in the order %v", in)
			}
		}
		r.leave()
		r.leave()
		if r.free != 2 || len(r.queue) != 0 {
			t.Errorf("at the end there is room for %d, and %d wait", r.free, len(r.queue))
		}
	})
}

// TestRoomGivenUp: who gives up in the queue takes nothing, also when the room comes at the same moment.
func TestRoomGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, reason := newRoom(1), errors.New("enough")
		if err := r.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gaveUp := make(chan error, 1)
		go func() { gaveUp <- r.enter(ctx) }()
		synctest.Wait()
		cancel(reason)
		if err := <-gaveUp; !errors.Is(err, reason) {
			t.Errorf("enter ended with %v", err)
		}
		if err := r.enter(ctx); !errors.Is(err, reason) {
			t.Errorf("enter with a ctx that has ended gave %v", err)
		}
		if len(r.queue) != 0 {
			t.Errorf("%d wait for a room that nobody wants", len(r.queue))
		}
		mine := r.ask()
		r.leave() // the room comes
		r.forgo(mine)
		if r.free != 1 {
			t.Errorf("there is room for %d turns, expected 1", r.free)
		}
	})
}

// TestRoomByChance: with turns that begin, wait, go on and give up by chance, nothing is lost and the bound holds for those that begin.
func TestRoomByChance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const capacity, turns = 3, 300
		r := newRoom(capacity)
		var mu sync.Mutex
		working, back := 0, 0 // turns that are worked on, and how many of them have waited
		count := func(turns, waited int) {
			mu.Lock()
			defer mu.Unlock()
			working, back = working+turns, back+waited
			if working > capacity+back {
				t.Errorf("%d turns are worked on, of which %d have waited", working, back)
			}
		}
		some := func() { time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond) }
		var all sync.WaitGroup
		for range turns {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(150))*time.Millisecond)
				defer cancel()
				if r.enter(ctx) != nil {
					return
				}
				count(1, 0)
				some()
				waits := rand.IntN(2)
				if waits == 1 {
					count(-1, 0)
					r.leave()
					some()
					count(1, 1)
					r.press()
					some()
				}
				count(-1, -waits)
				r.leave()
			})
		}
		all.Wait()
		if r.free != capacity || len(r.queue) != 0 {
			t.Errorf("at the end there is room for %d, and %d wait", r.free, len(r.queue))
		}
	})
}
