package bolt

import (
	"runtime"
	"sync"

	"github.com/parleyhub/parley/hub/journal"
)

// chains checks the hashes of records on several processors, while others are read.
type chains struct {
	blocks  chan block
	pending sync.WaitGroup // blocks that were put
	workers sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	wrong *journal.Record
	err   error // of the first record that is wrong
}

// block is some records and the head that each of them follows.
type block struct {
	heads   []journal.Head
	records []journal.Record
}

// maxChainWorkers bounds the blocks that are in memory at once.
const maxChainWorkers = 8

func newChains() *chains {
	c := &chains{blocks: make(chan block)}
	for range min(runtime.GOMAXPROCS(0), maxChainWorkers) {
		c.workers.Go(c.run)
	}
	return c
}

func (c *chains) run() {
	for b := range c.blocks {
		c.check(b)
		c.pending.Done()
	}
}

func (c *chains) check(b block) {
	for i, h := range b.heads {
		if err := chained(h, &b.records[i]); err != nil {
			c.found(&b.records[i], err)
			return
		}
	}
}

func (c *chains) found(r *journal.Record, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wrong == nil || r.Position < c.wrong.Position {
		c.wrong, c.err = r, err
	}
}

// put has a block checked. It waits while too many are.
func (c *chains) put(b block) {
	c.pending.Add(1)
	c.blocks <- b
}

// wait waits for what was put. Its error names the first record that is wrong.
func (c *chains) wait() error {
	c.pending.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// close is wait, and nothing may be put any more.
func (c *chains) close() error {
	close(c.blocks)
	c.workers.Wait()
	return c.wait()
}
