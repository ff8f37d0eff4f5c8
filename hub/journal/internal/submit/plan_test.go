package submit_test

import (
	"testing"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/internal/submit"
)

// TestRoomIsKept checks that a commit of many batches allocates nothing once the first were answered.
func TestRoomIsKept(t *testing.T) {
	const batches = 64
	q, told := submit.NewQueue(), make(chan struct{}, batches)
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
		submit.Deliver(p.Finish(nil))
		submit.Deliver(submit.Refuse(items[1:], nil))
		for range batches {
			<-told
		}
	}
	commit()
	commit()
	if n := testing.AllocsPerRun(100, commit); n > 2 { // Refuse makes a slice, and a hash its sum
		t.Errorf("a commit of %d batches allocates %.0f times", batches, n)
	}
}
