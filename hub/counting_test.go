package hub_test

import (
	"sync/atomic"

	"github.com/parleyhub/parley/hub/journal"
)

// counting is a journal that can be full for as long as a test likes.
type counting struct {
	journal.Journal
	full    atomic.Bool
	refused atomic.Int64
}

func (c *counting) Submit(b journal.Batch) {
	b = b.Sealed()
	if !c.full.Load() {
		c.Journal.Submit(b)
		return
	}
	c.refused.Add(1)
	go b.Done(journal.Head{}, journal.ErrStorageFull)
}
