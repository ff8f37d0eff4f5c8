// Package submit is what every journal does between Submit and Done, apart from the storing: a bounded queue, the decision
// of batches on heads, and the calls of Done.
//
//	Submit -> Queue -> one committer: Planner.Decide -> (store) -> Planner.Finish -> Deliver -> Done
//
// Batches leave in the order in which they came, refused ones too.
package submit

import (
	"fmt"
	"slices"
	"sync"

	"github.com/parleyhub/parley/hub/journal"
)

// Bounds of a Queue. What is more gets ErrOverloaded.
const (
	maxQueueBytes   = 64 << 20
	maxQueueBatches = 65_536
)

// maxRoom bounds the items whose room is kept for those to come.
const maxRoom = 4096

// Item is a batch on its way.
type Item struct {
	journal.Batch
	// Err is set when the batch was refused on arrival. It keeps its place, so that every Done comes in order.
	Err error

	bytes int
}

// Queue holds batches until the committer takes them. Make one with NewQueue.
type Queue struct {
	mu      sync.Mutex // guards the fields below
	some    *sync.Cond
	items   []Item
	taken   []Item // by the last Take
	batches int
	bytes   int
	closed  bool // what comes now is refused in its place
	ended   bool // the committer has taken the last
}

// measure checks the batch, which is sealed, and counts its bytes.
func (it *Item) measure() {
	it.Err = Check(&it.Batch)
	for _, e := range it.Events {
		it.bytes += len(e)
	}
}

// NewQueue returns an empty queue.
func NewQueue() *Queue {
	q := &Queue{}
	q.some = sync.NewCond(&q.mu)
	return q
}

// Put adds a batch and reports whether the committer will meet it; if not, the caller answers it with ErrClosed. It does
// not wait.
func (q *Queue) Put(b journal.Batch) bool {
	it := Item{Batch: b}
	if b.Seal == nil {
		it.measure()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return false
	}
	if q.closed {
		it.Err = journal.ErrClosed
	}
	if it.Err == nil && (q.batches >= maxQueueBatches || q.bytes+it.bytes > maxQueueBytes) {
		it.Err = journal.ErrOverloaded
	}
	if it.Err != nil {
		it.Events, it.Labels, it.bytes = nil, nil, 0
	} else {
		q.batches++
		q.bytes += it.bytes
	}
	q.items = append(q.items, it)
	q.some.Signal()
	return true
}

// Take waits for batches and returns them in order: all, but not more than max bytes unless the first alone is larger. They are the caller's until
// its next Take. It returns nil when the queue is closed and empty.
func (q *Queue) Take(max int) []Item {
	return q.seal(q.await(max), max)
}

func (q *Queue) await(max int) []Item {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.taken) // nothing of it is held while there is nothing more
	for len(q.items) == 0 && !q.closed {
		q.some.Wait()
	}
	taken := q.takeLocked(max)
	if len(taken) == 0 {
		q.ended = true
		return nil
	}
	return taken
}

// seal seals items that were taken. It puts back those after max bytes.
func (q *Queue) seal(taken []Item, max int) []Item {
	bytes := 0
	for i := range taken {
		it := &taken[i]
		if it.Err == nil && it.Seal != nil {
			if i > 0 && bytes >= max {
				q.putBack(taken[i:])
				return taken[:i]
			}
			it.Batch = it.Sealed()
			it.measure()
		}
		bytes += it.bytes
	}
	return taken
}

// putBack adds items in front of the others.
func (q *Queue) putBack(items []Item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = slices.Concat(items, q.items)
	for i := range items {
		if items[i].Err == nil {
			q.batches++
		}
		q.bytes += items[i].bytes
	}
	clear(items)
}

// TakeNow is Take that does not wait, and for which what the last Take or TakeNow gave is the caller's no longer either: it returns nil while the queue is empty. With a max below 0 it returns nothing.
func (q *Queue) TakeNow(max int) []Item {
	if max < 0 {
		return nil
	}
	q.mu.Lock()
	taken := q.takeLocked(max)
	q.mu.Unlock()
	return q.seal(taken, max)
}

// Remove takes out of their places the batches for which out says so.
func (q *Queue) Remove(out func(*Item) bool) []Item {
	q.mu.Lock()
	defer q.mu.Unlock()
	var removed, kept []Item
	for i := range q.items {
		it := &q.items[i]
		if !out(it) {
			kept = append(kept, *it)
			continue
		}
		removed = append(removed, *it)
		if it.Err == nil {
			q.batches--
			q.bytes -= it.bytes
		}
	}
	q.items = kept
	return removed
}

func (q *Queue) takeLocked(max int) []Item {
	n, bytes := 0, 0
	for n < len(q.items) && (n == 0 || bytes+q.items[n].bytes <= max) {
		bytes += q.items[n].bytes
		if q.items[n].Err == nil {
			q.batches--
		}
		n++
	}
	q.bytes -= bytes
	if n == 0 {
		return nil
	}
	clear(q.taken) // nothing of it is held while there is nothing more
	room := q.taken[:0]
	if cap(room) > maxRoom {
		room = nil
	}
	rest := q.items[n:]
	q.taken, q.items = q.items[:n], append(room, rest...)
	clear(rest)
	return q.taken
}

// Close ends the taking of batches. What is in the queue stays for Take; what comes after gets ErrClosed.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.some.Signal()
}

// Check refuses a batch that is outside the bounds of journal.Batch.
func Check(b *journal.Batch) error {
	switch {
	case b.Conversation == "" || len(b.Conversation) > journal.MaxNameBytes:
		return fmt.Errorf("%w: conversation id of %d bytes, expected 1 to %d", journal.ErrInvalid, len(b.Conversation), journal.MaxNameBytes)
	case b.After < 0:
		return fmt.Errorf("%w: after %d, expected 0 or more", journal.ErrInvalid, b.After)
	case len(b.Events) == 0 && (b.Final || len(b.Labels) > 0):
		return fmt.Errorf("%w: a check that writes, expected events", journal.ErrInvalid)
	case len(b.Labels) > journal.MaxLabels:
		return fmt.Errorf("%w: %d labels, expected at most %d", journal.ErrInvalid, len(b.Labels), journal.MaxLabels)
	}
	for _, l := range b.Labels {
		if l == "" || len(l) > journal.MaxNameBytes {
			return fmt.Errorf("%w: label of %d bytes, expected 1 to %d", journal.ErrInvalid, len(l), journal.MaxNameBytes)
		}
	}
	bytes := 0
	for _, e := range b.Events {
		bytes += len(e)
	}
	if bytes > journal.MaxBatchBytes {
		return fmt.Errorf("%w: %d bytes, expected at most %d", journal.ErrInvalid, bytes, journal.MaxBatchBytes)
	}
	return nil
}
