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

// The capacity limits running turns, waiting turns are served in order, and a turn that continues
// is never delayed.
func TestCapacityLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newCapacity(2)
		var in []int
		begin := func(n int) {
			go func() {
				if err := r.acquire(t.Context()); err != nil {
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
		r.release() // the first turn waits for a session
		expect("one waits", 3)
		r.force() // it continues beside the two others
		expect("it goes on", 3)
		r.release()
		expect("one of three has ended", 3)
		r.release()
		expect("two of three have ended", 4)
		r.release()
		expect("another has ended", 5)
		for i, n := range in {
			if i != n {
				t.Errorf("they entered in the order %v", in)
			}
		}
		r.release()
		r.release()
		if r.free != 2 || len(r.queue) != 0 {
			t.Errorf("at the end %d are free, and %d wait", r.free, len(r.queue))
		}
	})
}

// A canceled request takes no capacity, even if it gets some at the same moment.
func TestCapacityCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, reason := newCapacity(1), errors.New("enough")
		if err := r.acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gaveUp := make(chan error, 1)
		go func() { gaveUp <- r.acquire(ctx) }()
		synctest.Wait()
		cancel(reason)
		if err := <-gaveUp; !errors.Is(err, reason) {
			t.Errorf("enter ended with %v", err)
		}
		if err := r.acquire(ctx); !errors.Is(err, reason) {
			t.Errorf("acquire with a canceled ctx returned %v", err)
		}
		if len(r.queue) != 0 {
			t.Errorf("%d canceled requests still wait", len(r.queue))
		}
		mine := r.request()
		r.release() // capacity becomes free
		r.cancel(mine)
		if r.free != 1 {
			t.Errorf("%d are free, expected 1", r.free)
		}
	})
}

// Turns that randomly start, wait, continue and cancel leak no capacity, and starting turns respect
// the limit.
func TestCapacityRandom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const capacity, turns = 3, 300
		r := newCapacity(capacity)
		var mu sync.Mutex
		working, back := 0, 0 // running turns, and those of them that waited
		count := func(turns, waited int) {
			mu.Lock()
			defer mu.Unlock()
			working, back = working+turns, back+waited
			if working > capacity+back {
				t.Errorf("%d turns run, of which %d waited", working, back)
			}
		}
		some := func() { time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond) }
		var all sync.WaitGroup
		for range turns {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(150))*time.Millisecond)
				defer cancel()
				if r.acquire(ctx) != nil {
					return
				}
				count(1, 0)
				some()
				waits := rand.IntN(2)
				if waits == 1 {
					count(-1, 0)
					r.release()
					some()
					count(1, 1)
					r.force()
					some()
				}
				count(-1, -waits)
				r.release()
			})
		}
		all.Wait()
		if r.free != capacity || len(r.queue) != 0 {
			t.Errorf("at the end %d are free, and %d wait", r.free, len(r.queue))
		}
	})
}
