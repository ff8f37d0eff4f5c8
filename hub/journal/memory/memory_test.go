package memory_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/hub/journal/memory"
)

func TestConformance(t *testing.T) {
	journaltest.Run(t, func(*testing.T) journaltest.Factory {
		crash := func(t testing.TB, j journal.Journal) journal.Journal {
			fresh := j.(*memory.Journal).Crash()
			t.Cleanup(func() { fresh.Close() })
			return fresh
		}
		return journaltest.Factory{
			Open: func(t testing.TB) journal.Journal {
				j := memory.New()
				t.Cleanup(func() { j.Close() })
				return j
			},
			Crash: crash,
			Reopen: func(t testing.TB, j journal.Journal) journal.Journal {
				j.Close()
				return crash(t, j)
			},
		}
	})
}

func TestCrashDropsWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := memory.New()
		journaltest.Append(t, j, "c", 0, "durable")
		j.Hold()
		var got error
		b := journaltest.Batch("c", 1, "not durable")
		b.Done = func(_ journal.Head, err error) { got = err }
		j.Submit(b)
		synctest.Wait()
		if got != nil {
			t.Fatalf("Done while held: %v", got)
		}
		if h, _ := j.Head("c"); h.Seq != 1 {
			t.Fatalf("head shows what is not durable: %+v", h)
		}
		fresh := j.Crash()
		if !errors.Is(got, journal.ErrOutcomeUnknown) {
			t.Errorf("Done after Crash: %v", got)
		}
		if _, err := j.Head("c"); !errors.Is(err, journal.ErrClosed) {
			t.Errorf("the crashed journal still reads: %v", err)
		}
		journaltest.Append(t, fresh, "c", 1, "again")
		journaltest.CheckInvariants(t, fresh)
		fresh.Close()
	})
}

func TestCloseReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := memory.New()
		j.Hold()
		var got error = errors.New("not called")
		b := journaltest.Batch("c", 0, "x")
		b.Done = func(_ journal.Head, err error) { got = err }
		j.Submit(b)
		j.Close()
		if got != nil {
			t.Errorf("Close did not commit what was submitted: %v", got)
		}
	})
}

func TestFailNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := memory.New()
		j.FailNext(journal.ErrStorageFull)
		if _, err := journal.Append(t.Context(), j, journaltest.Batch("c", 0, "x")); !errors.Is(err, journal.ErrStorageFull) {
			t.Fatalf("append: %v", err)
		}
		journaltest.Append(t, j, "c", 0, "x")
		j.FailNext(journal.ErrOutcomeUnknown)
		for range 2 {
			if _, err := journal.Append(t.Context(), j, journaltest.Batch("c", 1, "y")); !errors.Is(err,
				journal.ErrOutcomeUnknown) {
				t.Fatalf("append: %v", err)
			}
		}
		if h, err := j.Head("c"); err != nil || h.Seq != 1 {
			t.Fatalf("head: %+v, %v", h, err)
		}
		j = j.Crash()
		if h, _ := j.Head("c"); h.Seq != 1 {
			t.Fatalf("head after crash: %+v", h)
		}
		j.LoseNext()
		if _, err := journal.Append(t.Context(), j, journaltest.Batch("c", 1, "y")); !errors.Is(err,
			journal.ErrOutcomeUnknown) {
			t.Fatalf("append: %v", err)
		}
		if h, _ := j.Head("c"); h.Seq != 1 {
			t.Fatalf("head shows what is not known to be durable: %+v", h)
		}
		j = j.Crash()
		if h, _ := j.Head("c"); h.Seq != 2 {
			t.Fatalf("head after crash: %+v", h)
		}
		journaltest.CheckInvariants(t, j)
		j.Close()
	})
}

func TestRefusalRestsOnCommit(t *testing.T) {
	for range 100 {
		if together := refusedTogether(t); together {
			return
		}
	}
	t.Error("the three were never in one commit")
}

// refusedTogether submits three batches for one commit, which fails, and reports whether they
// shared it: the journal may take the first before the others arrive.
func refusedTogether(t *testing.T) (together bool) {
	synctest.Test(t, func(t *testing.T) {
		j := memory.New()
		defer j.Close()
		j.Hold()
		errs := make([]error, 3)
		for i, id := range []string{"c", "c", "other"} {
			b := journaltest.Batch(id, int64(i/2), "x") // the second meets the head that the first leaves
			b.Done = func(_ journal.Head, err error) { errs[i] = err }
			j.Submit(b)
		}
		synctest.Wait()
		j.FailNext(journal.ErrStorageFull)
		j.Release()
		synctest.Wait()
		if !errors.Is(errs[0], journal.ErrStorageFull) {
			t.Errorf("errors %v", errs)
		}
		if together = errs[1] != nil; !together {
			return // the second came into the commit after, at the head that there was
		}
		var moved *journal.MovedError
		if !errors.Is(errs[1], journal.ErrStorageFull) || !errors.As(errs[2], &moved) {
			t.Errorf("errors %v", errs)
		}
	})
	return together
}

func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := memory.New()
		j.Hold()
		big := make([]byte, 16<<20)
		var order []int
		var errs []error
		for i := range 8 {
			j.Submit(journal.Batch{Conversation: "c", After: int64(i), Events: [][]byte{big},
				Done: func(_ journal.Head, err error) {
					order = append(order, i)
					errs = append(errs, err)
				}})
			if i == 0 {
				synctest.Wait() // the committer holds it
			}
		}
		synctest.Wait()
		if len(order) != 0 {
			t.Fatalf("Done %v was called before those in front of it", order)
		}
		j.Release()
		synctest.Wait()
		for i, err := range errs {
			// One with the committer and 64 MiB in the queue.
			if order[i] != i || (i < 5) != (err == nil) || i >= 5 && !errors.Is(err, journal.ErrOverloaded) {
				t.Errorf("batch %d as number %d: %v", order[i], i, err)
			}
		}
		journaltest.Append(t, j, "c", 5, "there is room again")
		j.Close()
	})
}
