package submit_test

import (
	"runtime"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/internal/submit"
)

// numbered makes n calls from a number on, each of which tells its own.
func numbered(from, n int, told chan<- int) (calls []submit.Call) {
	for i := range n {
		calls = append(calls, submit.Call{Done: func(journal.Head, error) { told <- from + i }})
	}
	return calls
}

// TestCallerKeepsTheOrder: calls are made in the order of Push, also of what comes while others are made, and after Wait; whose goroutine has ended when Wait returns.
func TestCallerKeepsTheOrder(t *testing.T) {
	const calls = 1000
	before := runtime.NumGoroutine()
	var c submit.Caller
	told := make(chan int, 1)
	go func() {
		for n := 0; n < calls; {
			some := min(n%7+1, calls-n)
			c.Push(numbered(n, some, told)...)
			n += some
		}
	}()
	for want := range calls {
		if got := <-told; got != want {
			t.Fatalf("call %d is made, expected %d", got, want)
		}
	}
	c.Wait()
	c.Push(numbered(7, 1, told)...)
	if got := <-told; got != 7 {
		t.Errorf("after Wait: %d", got)
	}
	c.Wait()
	if n := runtime.NumGoroutine(); n > before+1 { // the one that has pushed may still be there
		t.Errorf("%d goroutines, %d before", n, before)
	}
}

// TestRoomIsKept: a commit of many batches costs no room of its own once the first were answered: what was taken, decided and called is used again, and so is the goroutine.
func TestRoomIsKept(t *testing.T) {
	const batches = 64
	q, told := submit.NewQueue(), make(chan struct{}, batches)
	var c submit.Caller
	p := submit.Planner{Head: func(string) (journal.Head, error) { return journal.Head{}, nil }}
	event, events := []byte("{}"), [1][]byte{}
	events[0] = event
	done := func(journal.Head, error) { told <- struct{}{} }
	commit := func() {
		for range batches {
			q.Put(journal.Batch{Conversation: "c", Events: events[:], Done: done})
		}
		items := q.Take(1 << 20)
		p.Decide(items[:1], 0) // the others do not follow a head
		c.Push(p.Finish(nil)...)
		c.Push(submit.Refuse(items[1:], nil)...)
		for range batches {
			<-told
		}
	}
	commit()
	commit()
	if n := testing.AllocsPerRun(100, commit); n > 2 { // Refuse makes a slice, and a hash its sum
		t.Errorf("a commit of %d batches allocates %.0f times", batches, n)
	}
	c.Wait()
}
