package memory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// TestReplica: a replica shows what has reached it, and answers a batch, with or without events,
// once it shows everything that was acknowledged before.
func TestReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := memory.New()
		defer j.Close()
		none := func() time.Duration { return 0 }
		fast, slow := memory.NewReplica(j, none), memory.NewReplica(j, none)
		defer fast.Cut()
		defer slow.Cut()
		slow.Pause()
		journaltest.Append(t, fast, "c", 0, "x")
		if h, err := fast.Head("c"); err != nil || h.Seq != 1 {
			t.Errorf("acknowledged, and not shown: %+v, %v", h, err)
		}
		if h, err := slow.Head("c"); err != nil || h.Seq != 0 {
			t.Errorf("paused, and shown: %+v, %v", h, err)
		}
		answered := make(chan error, 1)
		slow.Submit(journal.Batch{Conversation: "other", Done: func(_ journal.Head, err error) { answered <- err }})
		synctest.Wait()
		if len(answered) > 0 {
			t.Error("a check was answered before the replica shows what was acknowledged")
		}
		slow.Resume()
		if err := <-answered; err != nil {
			t.Error(err)
		}
		if h, err := slow.Head("c"); err != nil || h.Seq != 1 {
			t.Errorf("after a check: %+v, %v", h, err)
		}
		slow.PauseAt(2)
		journaltest.Append(t, fast, "c", 1, "y", "z")
		synctest.Wait()
		if h, err := slow.Head("c"); err != nil || h.Seq != 2 {
			t.Errorf("paused at 2: %+v, %v", h, err)
		}
	})
}
